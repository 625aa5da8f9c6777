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
RUN python -m venv /opt/textspectra \
    && /opt/textspectra/bin/pip install --constraint /constraints.txt ".[excel]" \
    && /opt/textspectra/bin/python weights/build.py dist \
    && /opt/textspectra/bin/pip install dist/*.whl \
    && chmod -R a+rX /opt/textspectra

FROM python:${PYTHON}-slim
COPY --from=build /opt/textspectra /opt/textspectra
# There is no place for a cache of embeddings where the root is read-only; mount one and unset TEXTSPECTRA_NO_CACHE.
ENV PATH=/opt/textspectra/bin:$PATH \
    TEXTSPECTRA_NO_CACHE=1 \
    PYTHONDONTWRITEBYTECODE=1
RUN useradd --no-create-home --uid 10001 textspectra
USER 10001
WORKDIR /data
ENTRYPOINT ["textspectra"]
CMD ["--help"]
