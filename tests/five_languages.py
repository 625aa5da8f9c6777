"""312 texts in five languages on three topics: orders, weather and football."""

import itertools

FRAMES = {
    "German": (
        ("Wo ist {}?", "Ich warte noch auf {}", "Bitte schicken Sie mir {}"),
        ("Am {} wird es regnen", "Das Wetter am {} ist schön und warm", "Gibt es am {} ein Gewitter?"),
        ("Das Spiel gegen {} war spannend", "Der Trainer von {} ist zufrieden", "Wer hat das Tor für {} geschossen?"),
    ),
    "Spanish": (
        ("¿Dónde está {}?", "Todavía no ha llegado {}", "Por favor, me pueden enviar {}"),
        ("El {} va a llover en el norte", "El tiempo del {} es bueno", "¿Hay una tormenta el {}?"),
        ("El partido contra {} fue muy bueno", "El entrenador del {} está contento", "¿Quién marcó el gol del {}?"),
    ),
    "Japanese": (
        ("{}はどこですか", "{}がまだ届きません", "{}を送ってください"),
        ("{}は雨が降るでしょう", "{}の天気は晴れです", "{}に嵐が来ますか"),
        ("{}との試合は面白かった", "{}の監督は満足している", "誰が{}のゴールを決めましたか"),
    ),
    "Chinese": (
        ("{}在哪里", "{}还没有到", "请把{}发给我"),
        ("{}会下雨", "{}的天气很好", "{}有暴风雨吗"),
        ("对{}的比赛很精彩", "{}的教练很满意", "谁为{}进了球"),
    ),
    "Arabic": (
        ("أين {}؟", "لم يصل {} حتى الآن", "من فضلك أرسل {}"),
        ("سوف تمطر يوم {}", "الطقس يوم {} جميل", "هل هناك عاصفة يوم {}؟"),
        ("كانت المباراة ضد {} مثيرة", "مدرب {} سعيد", "من سجل هدف {}؟"),
    ),
}
WORDS = {
    "German": (
        "mein Paket|die Rechnung|das Handy|meine Bestellung|der Gutschein|die Jacke|das Buch",
        "Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag",
        "Bayern|Dortmund|Madrid|Mailand|Paris|Porto|Ajax",
    ),
    "Spanish": (
        "mi paquete|la factura|el teléfono|mi pedido|el cupón|la chaqueta|el libro",
        "lunes|martes|miércoles|jueves|viernes|sábado|domingo",
        "Bayern|Dortmund|Madrid|Milan|Paris|Oporto|Ajax",
    ),
    "Japanese": (
        "荷物|請求書|電話|注文|クーポン|上着|本",
        "月曜日|火曜日|水曜日|木曜日|金曜日|土曜日|日曜日",
        "バイエルン|ドルトムント|マドリード|ミラン|パリ|ポルト|アヤックス",
    ),
    "Chinese": (
        "包裹|发票|手机|订单|优惠券|外套|图书",
        "星期一|星期二|星期三|星期四|星期五|星期六|星期天",
        "拜仁|多特蒙德|马德里|米兰|巴黎|波尔图|阿贾克斯",
    ),
    "Arabic": (
        "الطرد|الفاتورة|الهاتف|الطلب|القسيمة|السترة|الكتاب",
        "الإثنين|الثلاثاء|الأربعاء|الخميس|الجمعة|السبت|الأحد",
        "بايرن|دورتموند|مدريد|ميلان|باريس|بورتو|أياكس",
    ),
}


def five_languages():
    """Return the texts, the language of each, and its topic."""
    rows = [
        (frame.format(word), language, cluster)
        for language in FRAMES
        for cluster, (frames, words) in enumerate(zip(FRAMES[language], WORDS[language], strict=True))
        for frame, word in itertools.product(frames, words.split("|"))
    ]
    return tuple(zip(*rows[:312], strict=True))
