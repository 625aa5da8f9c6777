"""Languages of texts, on sentences written for these tests and on the labeled sets."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from labeled_sets import DATA, needs_data

from textspectra.words.languages import SAMPLE_TEXTS, language_shares, plain_text

FOUND = {
    "German": 0.9, "Spanish": 1, "French": 0.95, "Italian": 1, "Portuguese": 0.85, "Dutch": 1, "Japanese": 1,
    "Chinese": 1, "Arabic": 1, "Russian": 1, "Korean": 1, "Hindi": 1, "English": 1,
}  # fmt: skip
"""The share of the 20 sentences of each language that is recognized; the others have too few function words."""

SCRIPTS = {"Arabic": "Arabic script", "Hindi": "Devanagari script"}


def read_sentences():
    sentences, heads = {}, {*FOUND, "English queries"}
    for line in Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines():
        if line in heads:
            current = sentences[line] = []
        else:
            current.append(line)
    return sentences


SENTENCES = read_sentences()


@pytest.mark.parametrize("language", FOUND)
def test_languages_are_recognized(language):
    assert len(SENTENCES[language]) == 20
    shares = language_shares(SENTENCES[language])
    assert next(iter(shares)) == SCRIPTS.get(language, language)
    assert shares[SCRIPTS.get(language, language)] >= FOUND[language]
    assert sum(share for other, share in shares.items() if other != SCRIPTS.get(language, language)) <= 0.1


def test_queries_with_brand_names_are_not_foreign():
    shares = language_shares(SENTENCES["English queries"])
    assert sum(shares.values()) - shares.get("English", 0) < 0.1


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("iPhone 手机壳", "Chinese"),
        ("ｶｰﾄﾞが使えない", "Japanese"),
        ("女の子 这是一家日本商店的名字叫做女", "Chinese"),
        ("the film 你好 was good", "English"),
        ("Αθήνα", "Greek"),
        ("де моя посилка що", "Ukrainian"),
        ("jag vet inte var det är", "Swedish"),
        ("α and β of the model", "English"),
        ("die cast", None),
        ("la", None),
        ("123 !? 🙂", None),
        ("", None),
        ("\ud800", None),
        ("𝐛𝐨𝐥𝐝 𝐨𝐟 𝐭𝐡𝐞", "English"),
    ],
)
def test_single_texts(text, language):
    assert language_shares([text]) == ({language: 1.0} if language else {})


TAGALOG = """
Nasaan na po ang order ko
Hindi pa dumarating ang package ko
Ang bagal ng delivery nila
Sira ang natanggap kong produkto
Gusto ko sanang ibalik ang item na ito
Paano po ba magpalit ng password
Hindi ko mabuksan ang account ko
Matagal na akong naghihintay ng sagot
Maganda ang serbisyo at mabilis
Mali ang kulay na ipinadala sa akin
Salamat sa mabilis na tugon
Hindi gumagana ang app sa phone ko
Bakit po dalawang beses akong siningil
Saan ko makikita ang resibo ko
Puwede bang kanselahin ang aking subscription
Ang ganda ng packaging pero sira ang laman
Wala pong sumasagot sa tawag ko
Kailan po darating ang aking refund
Masyadong mahal ang shipping fee
Ito na ang pinakamasamang karanasan ko
Pakitulungan naman po ako dito
Na-hack yata ang account ko
Sana po ay maayos na agad ang problema
Mabait ang staff pero mabagal
""".strip().splitlines()
HUNGARIAN = """
Hol van a csomagom
A rendelés még nem érkezett meg
A kapott termék hibás
Szeretném visszaküldeni ezt a terméket
Hogyan tudom megváltoztatni a jelszavamat
Kétszer vonták le az összeget
Az alkalmazás nem működik a telefonomon
A szállítás nagyon gyors volt
Senki nem veszi fel a telefont
Kérem mondják le az előfizetésemet
Rossz színt küldtek
Mikor kapom vissza a pénzemet
Nagyon elégedett vagyok a szolgáltatással
A számla nem helyes
Elfelejtettem a jelszavamat
Túl magas az ár
""".strip().splitlines()
CZECH = """
Jak to mám na webu najít
Co je to za službu
Jak se dostanu do aplikace
Peníze nejsou na účtu od pondělí
Na to čekám už od pátku
To je moje karta a je bez peněz
Do kdy mi to přijde
Jak mi to pošlete a kdy
Je to na nic a nikdo se neozval
Co mám dělat po reklamaci
Jak je to možné když to ještě nepřišlo
Byla to chyba od vás
Po opravě to zase nejde
Za co mi to strhli z účtu
Jak to je s dopravou na Slovensko
Od kdy to platí a do kdy
Ten kurýr byl na mě hrubý
Co to je za kód v té zprávě
To je bez komentáře
Tak to je super a moc děkuji
Je to pod cenou ale stojí to za to
Ale to mi nikdo neřekl
Tu kartu mi vzal bankomat a co teď
Ja to chci jen vrátit
""".strip().splitlines()
FINNISH = """
Missä minun tilaukseni on
Paketti ei ole vielä saapunut
Haluaisin palauttaa tämän tuotteen
Miten voin vaihtaa salasanan
Rahat veloitettiin kaksi kertaa
Sovellus ei toimi puhelimessani
Toimitus oli todella nopea
Kukaan ei vastaa puhelimeen
Peruuttakaa tilaukseni kiitos
He lähettivät väärän värin
Milloin saan rahani takaisin
Olen erittäin tyytyväinen palveluun
Lasku ei ole oikein
Unohdin salasanani
Hinta on liian korkea
Kuka voi auttaa maksun kanssa
Miksi kortti on suljettu
En pysty kirjautumaan sisään
Kiitos nopeasta vastauksesta
Tavara tuli rikki eikä kukaan auta
Tarvitsen uuden osoitteen toimitukselle
Olen jo kirjoittanut teille kolme kertaa
""".strip().splitlines()
SWAHILI = """
Oda yangu iko wapi
Kifurushi bado hakijafika
Nataka kurudisha bidhaa hii
Ninawezaje kubadilisha nenosiri langu
Pesa zimekatwa mara mbili
Programu haifanyi kazi kwenye simu yangu
Huduma ilikuwa ya haraka sana
Hakuna anayejibu simu
Tafadhali ghairi usajili wangu
Walinitumia rangi isiyo sahihi
Nitapata pesa zangu lini
Nimeridhika sana na huduma yenu
Ankara si sahihi
Nimesahau nenosiri la akaunti yangu
Bei ni ya juu sana
Nani anaweza kunisaidia na malipo
Kwa nini kadi yangu imefungwa
Siwezi kuingia kwenye akaunti yangu
Asante kwa jibu la haraka
Bidhaa ilifika ikiwa imeharibika
Nahitaji kubadilisha anwani ya kupokea mzigo
Nimewaandikia mara tatu bila jibu
""".strip().splitlines()


@pytest.mark.parametrize("texts", [TAGALOG, HUNGARIAN, CZECH, FINNISH, SWAHILI])
def test_a_language_without_a_list_is_neither_polish_nor_english(texts):
    shares = language_shares(texts)
    assert list(shares) == ["another language"]
    assert shares["another language"] > 0.6
    mixed = language_shares(texts + SENTENCES["English"])
    assert set(mixed) == {"another language", "English"}
    assert mixed["English"] == pytest.approx(20 / (20 + len(texts)), abs=0.07)


def test_products_and_titles_are_not_in_another_language():
    assert language_shares(["the café opens late", "please add crème brûlée", "new São Paulo flight deals"] * 9) == {
        "English": pytest.approx(2 / 3)
    }
    assert language_shares([f"senior manager {word} systems technology" for word in "abcdefghijklmnop"]) == {}
    assert language_shares(["steel water bottle 500 ml", "red running shoes size 42"] * 20) == {}


def test_no_texts_and_many_texts():
    assert language_shares([]) == {}
    shares = language_shares(["wo ist das", "where is it", "nike air", "adidas"] * SAMPLE_TEXTS)
    assert shares == pytest.approx({"German": 0.25, "English": 0.25}, abs=0.03)


@needs_data
@pytest.mark.parametrize("name", sorted({path.stem for path in DATA.glob("*.parquet")} - {"stackexchange121"}))
def test_the_english_sets_have_few_foreign_texts(name):
    # Some subreddits are Korean or Brazilian, and some sites of StackExchange Russian, Spanish or Japanese.
    real = 0.08 if name.startswith(("reddit", "stackexchange")) else 0
    texts = pq.read_table(DATA / f"{name}.parquet", columns=["text"])["text"]
    shares = language_shares(texts.take(list(range(0, len(texts), max(1, len(texts) // 2000)))).to_pylist())
    assert sum(shares.values()) - shares.get("English", 0) < real + 0.01


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<p>My <b>parcel</b> is late<br/>again</p>", "My parcel is late again"),
        ('<a href="https://a.b/c?d=1&amp;e" target=_blank>my order</a>', "my order"),
        ("Tom &amp; Jerry&#39;s &quot;shop&quot;&nbsp;&eacute;", 'Tom & Jerry\'s "shop" é'),
        ("&lt;br&gt;late&lt;/br&gt;", "late"),
        ("see https://example.com/a?b=c#d now", "see now"),
        ("WWW.Example.com is down", "is down"),
        ("<DIV CLASS='x'>late</DIV> <!-- note -->", "late"),
    ],
)
def test_what_is_left(text, plain):
    assert " ".join(plain_text(text).split()) == plain


@pytest.mark.parametrize(
    "text",
    ["I <3 it", "a < b and c > d", "if a<b and b>c", "AT&T and R&D", "dear <name>, hello", "List<String> fails",
     "a <b", "x & y;", "the https site", "www", "p > 0.05", "<", "&;"],
)  # fmt: skip
def test_what_is_no_markup_stays(text):
    assert plain_text(text) == text


@given(st.text(alphabet="<>&;ab p/=\"'#:w.ht", max_size=60))
def test_nothing_is_added(text):
    assert len(plain_text(text)) <= len(text)
