"""The words and two-word phrases of texts in any language.

Stop words are short lists of function words, written for this module. A text loses only those of its own language: the
German article "die" is removed, and the English verb stays. The English lists of stop-words 2025.11.4 and stopwordsiso
0.7.1 contain "order", "bill" and "system", which short texts are often about. In a language without a list, words that
are frequent in all clusters are stop words (:mod:`textspectra.topics.keywords`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple

MAX_CHARACTERS = 1_000
"""Number of characters of a text that are read, which limits the cost of hostile texts."""

MAX_WORD = 40
"""Maximum length of a word; longer ones are hashes, keys and other noise."""

SPOKEN = 0.05
"""If this share of the texts is clearly in a language, one function word is enough for the other texts."""

MAX_UNSPACED_WORD = 4
"""Maximum length of a run of characters that counts as a word in scripts without spaces."""

FUNCTION_WORDS = {
    "english": """
        a an the this that these those i me my mine myself we us our ours you your yours yourself he him his she her
        hers it its itself they them their theirs someone something anyone anything everyone everything nothing
        nobody who whom whose which what when where why how whether and or but nor so if then than because as while
        until unless although though since of at by for with without about against between into onto through during
        before after above below to from up down in out on off over under again once here there all any both each
        few more most much many other another some such no not only own same too very just also even ever never
        always still yet already almost really quite now is am are was were be been being have has had having do
        does did doing done will would shall should can could may might must ought cannot dont doesnt didnt isnt
        arent wasnt werent cant couldnt wont wouldnt shouldnt havent hasnt hadnt im ive id ill youre youve thats
        whats s t d m ll ve re let get gets got getting go goes going went gone come one ones two say says said per
        via else instead every within upon like need needs needed want wants wanted know take takes took taken make
        makes made see seen tell told give given put try tried trying keep keeps kept please kindly hello hi hey dear
        use uses used using able think thing things""",
    "german": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner ich mich mir mein
        meine meinen meinem meiner meines du dich dir dein deine deinen er ihn ihm sein seine seinen seinem seiner
        sie ihr ihre ihren ihrem ihrer es wir uns unser unsere unseren euch euer ihnen sich man wer wen wem was wo
        wann wie warum wieso welche welcher welches und oder aber denn sondern wenn weil dass daß ob als damit
        obwohl während in im ins an am auf aus bei beim bis durch für gegen mit nach ohne seit über um unter von vom
        vor zu zum zur zwischen ist sind war waren bin bist wird werden wurde wurden worden habe haben hat hatte
        hatten hab kann können könnte könnten konnte muss müssen soll sollte will wollen möchte möchten darf dürfen
        würde würden nicht nichts noch nur auch schon sehr so mehr immer wieder doch mal da dann hier dort jetzt hin
        her etwas alle alles dieser diese dieses diesen diesem jeder jede jedes andere anderen dazu davon dafür
        damals bitte ja nein""",
    "french": """
        le la les l un une des du de d au aux ce cet cette ces c je j me m moi mon ma mes tu te t toi ton ta tes il
        elle on se s soi son sa ses nous notre nos vous votre vos ils elles leur leurs lui eux y en qui que qu quoi
        dont où quand comment pourquoi quel quelle quels quelles et ou mais donc or ni car si comme lorsque puisque
        à dans par pour sur sous avec sans chez entre vers depuis avant après pendant contre est sont suis es êtes
        était étaient été être sera serait ai as a avons avez ont avait avaient avoir eu fait faire fais peut peux
        pouvez pourriez pouvoir dois doit faut veux voudrais ne n pas plus moins très trop bien aussi encore déjà
        toujours jamais tout tous toute toutes rien cela ça ici là alors même autre autres aucun aucune plusieurs
        oui non""",
    "spanish": """
        el la los las lo un una unos unas de del al a y e o u pero sino ni que qué quien quién cual cuál cuando
        cuándo donde dónde como cómo porque si yo me mi mis mí tú te tu tus ti él ella ellos ellas se su sus le les
        nos nosotros nuestro nuestra usted ustedes vosotros os en con sin por para sobre entre hasta desde hacia
        según contra tras ante este esta esto estos estas ese esa eso esos esas aquel aquella es son soy eres era
        eran fue fueron ser sido está están estoy estaba estar he has ha hemos han había haber hay tengo tiene
        tienen tener hace hacer puedo puede pueden podría poder quiero debe no sí ya muy más menos también tampoco
        todavía aún siempre nunca nada algo todo toda todos todas otro otra otros otras mismo cada tan tanto así
        aquí ahí allí""",
    "italian": """
        il lo la i gli le l un uno una di del dello della dei degli delle dell a al allo alla ai agli alle all da
        dal dallo dalla dai dagli dalle dall in nel nello nella nei negli nelle nell su sul sullo sulla sui sugli
        sulle sull con per tra fra e ed o ma se che chi cui quale quali quando dove come perché io mi me mio mia
        miei mie tu ti te tuo tua lui lei si sé suo sua suoi sue noi ci nostro nostra voi vi vostro vostra loro ne
        questo questa questi queste quello quella quelli quelle è sono sei siamo siete era erano stato stata essere
        ho hai ha abbiamo avete hanno aveva avere fatto fare può posso potete potrei devo deve vorrei non più meno
        molto anche ancora già sempre mai niente tutto tutti tutta tutte altro altra così qui lì""",
    "portuguese": """
        o a os as um uma uns umas de do da dos das em no na nos nas num numa ao à aos às por pelo pela pelos pelas
        para com sem sobre entre até desde e ou mas nem que quem qual quais quando onde como porque se eu me meu
        minha meus minhas tu te teu tua você vocês ele ela eles elas lhe seu sua seus suas nós nosso nossa isto isso
        este esta estes estas esse essa aquele aquela é são sou era eram foi foram ser sido está estão estou estava
        estar tenho tem têm tinha ter há posso pode podem poderia fazer faz não sim já muito mais menos também ainda
        sempre nunca nada tudo todo toda todos todas outro outra mesmo cada tão assim aqui ali quero""",
    "dutch": """
        de het een ik mij me mijn je jij jou jouw u uw hij hem zijn zij ze haar wij we ons onze jullie hun hen wie
        wat waar wanneer hoe waarom welke dit dat deze die er en of maar want dus als dan omdat terwijl in op aan
        van voor met naar bij uit over door om te tot tegen onder na zonder tussen is ben bent was waren wordt
        worden werd heb hebt heeft hebben had kan kunt kunnen kon moet moeten wil willen wilt zou zullen zal mag
        niet geen nog ook al wel zo heel erg meer weer altijd nooit iets niets alles alle hier daar nu graag""",
    "swedish": """
        en ett den det de dem jag mig min mitt mina du dig din ditt dina han honom hans hon henne hennes vi oss vår
        vårt våra ni er ert era sig sin sitt sina som vad vem var när hur varför vilken och eller men för att om i
        på av med till från vid under över efter utan mellan är varit vara blir blev har hade ha kan kunde ska
        skulle måste vill får inte ingen inget nu då här där också redan bara mycket mer alla allt något någon denna
        detta dessa""",
    "danish and norwegian": """
        en et den det de dem jeg mig meg min mitt mit mine du dig deg din ditt dit dine han ham hans hun hende henne
        hendes vi os oss vor vores vår vårt våre i jer dere sig seg sin sitt sit sine som hvad hva hvem hvor hvornår
        når hvordan hvorfor hvilken og eller men for at om på af av med til fra ved under over efter etter uden uten
        er var været vært være bliver blir blev ble har havde hadde have ha kan kunne skal skulle må vil ville ikke
        ingen nu nå da her der også allerede kun bare meget mye mere mer alle alt noget noe nogen noen denne dette
        disse""",
    "polish": """
        i a w we z ze na do od o u po za pod nad przed przez przy dla bez między oraz lub albo ale więc że żeby bo
        jeśli gdy czy jak kiedy gdzie dlaczego kto co który która które którzy ja mnie mi mój moja moje mojego mojej
        moją ty cię ci twój on ona ono jego jej go jemu mu my nas nam nasz nasza wy was wam oni one ich im się
        siebie ten ta to tego tej te tym tych jest są był była było były być będzie mam ma mają mieć mogę może można
        muszę chcę nie tak już jeszcze tylko też także bardzo więcej wszystko wszystkie tu tam teraz""",
    "russian": """
        и а но или да не ни в во на с со к ко о об от до из за по под над при про через для без между у что чтобы
        как если когда где куда почему зачем кто который которая которые я меня мне мной мой моя моё мое мои моего
        моей ты тебя тебе твой он его ему она её ее ей оно мы нас нам наш наша вы вас вам ваш ваша они их им себя
        свой это этот эта эти этого этой тот та те того там тут здесь так же ли бы уже еще ещё только тоже также
        очень всё все всех был была было были быть есть будет могу может можно нужно надо хочу нет сейчас""",
    "ukrainian": """
        і й та а але або чи не ні в у на з зі із до від за по під над при про через для без між о об що щоб як якщо
        коли де куди чому хто який яка яке які я мене мені мій моя моє мої ти тебе тобі твій він його йому вона її їй
        воно ми нас нам наш наша ви вас вам ваш ваша вони їх їм себе свій це цей ця ці цього той та те там тут так же
        б би вже ще тільки також дуже все всі був була було були бути є буде можу може можна треба потрібно хочу""",
    "turkish": """
        bir bu şu o ben beni bana benim sen seni sana senin biz bizi bize bizim siz sizi size sizin onlar onu ona
        onun ve veya ya da de ama fakat çünkü eğer ki mi mı mu mü ne neden niçin nasıl nerede kim hangi için ile
        gibi kadar sonra önce göre üzere var yok değil çok daha en her hiç tüm bütün şey olarak olan oldu olur hem
        ise artık hala""",
}
"""Function words by language; the first language is the default."""

CHINESE_FUNCTION_CHARACTERS = "的了吗呢吧啊我你您他她们这那哪么什怎是很就也和没还請请"
"""They separate phrases in Chinese, but not in Japanese, where some of them are parts of words."""

ELIDED = frozenset(["l", "d", "j", "m", "n", "s", "t", "c", "qu", "un", "all", "dall", "dell", "nell", "sull", "quell"])
"""Articles before an apostrophe, which are removed: l'adresse, dell'ordine."""

_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f"
_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SOUTHEAST = "\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17ff"
_UNSPACED = re.compile(f"[{_HAN}]+|[{_HIRAGANA}]+|[{_KATAKANA}]+|[{_SOUTHEAST}]+")
_IS_KANA = re.compile(f"[{_HIRAGANA}{_KATAKANA}]")
_IS_HIRAGANA = re.compile(f"[{_HIRAGANA}]")
_IN_GRAMS = re.compile(f"[{_HAN}{_SOUTHEAST}]")
_LANGUAGES = list(FUNCTION_WORDS)
_STOP_SETS = [frozenset(words.split()) for words in FUNCTION_WORDS.values()]
_SPOKEN_BY: dict[str, tuple[int, ...]] = {
    written: tuple(number for number, words in enumerate(_STOP_SETS) if word in words)
    for word in frozenset().union(*_STOP_SETS)
    for written in (word, word.capitalize(), word.upper())
}


class TermCounts(NamedTuple):
    """The number of texts in which each term occurs, and its spellings.

    Attributes
    ----------
    texts : Counter
        The number of texts by term. A term is a lower-case word, or two with a space between them.
    forms : Counter
        The number of texts by pairs of a term and a spelling with upper case. The spelling is empty at the
        beginning of a sentence, where a capital says nothing.

    Examples
    --------
    >>> count_terms(["the WiFi of the lamp", "no WiFi"])["english"].forms
    Counter({('wifi', 'WiFi'): 2})
    """

    texts: Counter[str]
    forms: Counter[tuple[str, str]]


def count_terms(texts: Iterable[str]) -> dict[str, TermCounts]:
    """Count the words and two-word phrases of texts that belong together, by the language of the texts.

    Phrases contain no stop words and no punctuation. Numbers and single characters count only in texts without other
    words. In scripts without spaces, short runs and all pairs of adjacent characters are terms; in Japanese, this
    holds for kanji, and runs of katakana are words. Only the first 1,000 characters of a text are read.

    Examples
    --------
    >>> sorted(count_terms(["Where is my credit card?", "the credit, a card"])["english"].texts.items())
    [('card', 2), ('credit', 2), ('credit card', 1)]
    >>> sorted(count_terms(["返金はまだですか"])["english"].texts)
    ['返金']
    """
    phrases = [_phrases(text) for text in texts]
    languages = _languages([_language_votes(parts) for parts in phrases])
    counts = {}
    for language in sorted(set(languages)):
        stop_words = _STOP_SETS[language]
        found = [_terms(parts, stop_words) for parts, own in zip(phrases, languages, strict=True) if own == language]
        forms = [(term, form) for terms in found for term, form in terms.items() if form != term]
        counts[_LANGUAGES[language]] = TermCounts(Counter(chain.from_iterable(found)), Counter(forms))
    return counts


def clean_text(text: str, *, limit: int = MAX_CHARACTERS) -> str:
    r"""Return the beginning of a text on one line, without control and format characters.

    Examples
    --------
    >>> clean_text("two \u202elines\n and a\x00 NUL")
    'two lines and a NUL'
    """
    return " ".join(_printable(text[:limit]).split())


def term_parts(term: str) -> frozenset[str]:
    """Return the words of a term; in scripts without spaces, its pairs of characters.

    Examples
    --------
    >>> sorted(term_parts("credit card")), sorted(term_parts("返金状況"))
    (['card', 'credit'], ['状況', '返金', '金状'])
    """
    if term.isascii() or not _IN_GRAMS.match(term):
        return frozenset(term.split())
    return frozenset(_pairs(_characters(term)) or [term])


def _printable(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else "\n" if c in "\n\r\x85\u2028\u2029" else " " if _is_separator(c) else "" for c in text
    )


def _is_separator(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Zs")


@cache
def _marks() -> str:
    r"""Return all combining marks, which ``\w`` lacks and words of Indian languages and Thai need."""
    return "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M")


@cache
def _word_pattern(marks: str) -> re.Pattern[str]:
    """Return the pattern of words and, as empty matches, of what separates phrases: punctuation, URLs, line ends."""
    word = rf"\w+(?:[{marks}]+\w*)*" if marks else r"\w+"
    return re.compile(rf"(?:https?://|www\.)\S+|({word}(?:[-‑'’]{word})*(?:\+\+|#(?!\w))?)|[^\w\s]|\n")


@cache
def _character_pattern() -> re.Pattern[str]:
    return re.compile(f".[{_marks()}]*", re.DOTALL)


def _phrases(text: str) -> list[list[str]]:
    """Return the words of a text in phrases, which end at punctuation and where a line or a script ends."""
    text = _printable(text[:MAX_CHARACTERS])
    if not text.isascii() and _UNSPACED.search(text):
        if not _IS_KANA.search(text):
            text = text.translate(dict.fromkeys(map(ord, CHINESE_FUNCTION_CHARACTERS), "\n"))
        text = _UNSPACED.sub("\n\\g<0>\n", text)
    # The pattern without marks takes half the time on plain English.
    phrases: list[list[str]] = [[]]
    for word in _word_pattern("" if text.isascii() else _marks()).findall(text):
        if word:
            phrases[-1].append(word)
        elif phrases[-1]:
            phrases.append([])
    return phrases


def _language_votes(phrases: list[list[str]]) -> dict[int, int]:
    """Return how many function words of each language a text has."""
    votes: dict[int, int] = {}
    for phrase in phrases:
        for word in phrase:
            if word in _SPOKEN_BY:
                for number in _SPOKEN_BY[word]:
                    votes[number] = votes.get(number, 0) + 1
    return votes


def _languages(votes: list[dict[int, int]]) -> list[int]:
    """Return the language of each text, by its function words and those of the other texts.

    A single function word is weak evidence: "die" is not German in "die casting". It counts only if some of the other
    texts are clearly in that language.
    """
    best = [min(vote, key=lambda number: (-vote[number], number), default=0) for vote in votes]
    most = [vote.get(own, 0) for own, vote in zip(best, votes, strict=True)]
    clear = Counter(own for own, n in zip(best, most, strict=True) if n > 1)
    usual = min(clear, key=lambda number: (-clear[number], number), default=0)
    spoken = {number for number, n in clear.items() if n >= SPOKEN * len(votes)}
    return [
        own if n > vote.get(usual, 0) and (n > 1 or own in spoken) else usual
        for own, n, vote in zip(best, most, votes, strict=True)
    ]


def _terms(phrases: list[list[str]], stop_words: frozenset[str]) -> dict[str, str]:
    """Return the terms of a text with their spellings, which are empty at the beginning of a sentence."""
    terms: dict[str, str] = {}
    weak: dict[str, str] = {}
    for phrase in phrases:
        before = before_form = ""
        for place, written in enumerate(phrase):
            form = written if written.isalnum() else _bare(written)
            word = form.lower()
            if word in stop_words or not 0 < len(word) <= MAX_WORD:
                before = ""
            elif _is_weak(word):
                weak.setdefault(word, form)
                before = ""
            elif not word.isascii() and _IN_GRAMS.match(word):
                terms.update((gram, gram) for gram in _grams(word))
            else:
                if place == 0 and form != word and form == word.capitalize():
                    form = ""
                terms.setdefault(word, form)
                if before and before != word:
                    terms.setdefault(f"{before} {word}", f"{before_form} {form}" if before_form and form else "")
                before, before_form = word, form
    return terms or weak


def _bare(word: str) -> str:
    """Return a word without articles and endings at an apostrophe; contractions such as "don't" become empty."""
    head, apostrophe, tail = word.replace("’", "'").replace("‑", "-").strip("_").partition("'")
    if not apostrophe:
        return head
    if tail.lower() == "s":
        return head
    if len(tail) <= 2:
        return ""
    return tail if head.lower() in ELIDED else f"{head}'{tail}"


def _is_weak(word: str) -> bool:
    if len(word) == 1 or (word[0].isnumeric() and not any(map(str.isalpha, word))):
        return True
    return not word.isascii() and bool(_IS_HIRAGANA.match(word))


def _grams(run: str) -> list[str]:
    characters = _characters(run)
    whole = [run] if len(characters) <= MAX_UNSPACED_WORD else []
    return whole + _pairs(characters)


def _characters(run: str) -> list[str]:
    return _character_pattern().findall(run)


def _pairs(characters: list[str]) -> list[str]:
    return [first + second for first, second in pairwise(characters)]
