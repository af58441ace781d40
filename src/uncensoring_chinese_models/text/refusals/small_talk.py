"""Words of food, travel, scenery, arts, health and the household, by which small talk is known.

A reply that speaks of these, and of nothing grave, has changed the subject if it was asked about
something else. The number of different words counts.
"""

from __future__ import annotations

import re

_ENGLISH = (
    r"cuisine|panda|adorable|compass|gunpowder|firework|mandarin|law school|lighter note|good films?|canyon|gorge|scholar tips|study tips|practise a little|delicious|tasty|noodle|dumpling|skewer|snack|flavou?r|recipe|street food|breakfast|dessert|melon|grape|coffee|pastry|pastries"
    r"|fish ball|seafood|tofu|chilli|spice|spicy|sesame|hot ?pot|dim sum|restaurant|caf[eé]|gourmet|dine|dining|foodie|grill|barbecue|congee"
    r"|mooncake|pineapple|mango|lychee|pomegranate|date palm|travell?er|tourist|tourism|sightseeing|itinerary|must-see|souvenir|guidebook|backpack"
    r"|vacation|hostel|hike|hiking|cable car|cruise|high-speed (?:train|rail)|scenic|scenery|landmark|landscape|blossom|sunrise|sunset|waterfall"
    r"|beach|island hopping|grassland|skyline|night view|temple fair|old town|hutong|pagoda|square dance|sunny|breeze|altitude|yak|panda|cherry"
    r"|osmanthus|lotus|photo spot|sunscreen|poetry|calligraphy|painting|opera|musical|melody|zither|lute|embroidery|festival|masterpiece|symphony"
    r"|porcelain|handicraft|chess|mahjong|basketball|badminton|table tennis|swimming|cycling|kite|origami|hobby|hobbies|fan club|legendary monkey"
    r"|tongue twister|nutrition|tai chi|qigong routine|yoga|vitamin|immune|stretch|jog|wellness|hydrated|meditat\w{1,4}|relax|wi-?fi|smartphone"
    r"|laptop|gadget|fashion|sturdy|wardrobe|gardening|houseplant|resume|cover letter|coding|programming|python|spreadsheet|vocabulary|grammar"
    r"|pronunciation|language learning|study plan|exam tips|galaxy|dinosaur|worth (?:a|the) (?:journey|visit|detour|trip|whole)|did you know"
    r"|speaking of|talking of|have you (?:seen|ridden|tasted|heard)|let me (?:suggest|tell you)|stroll|lighthouse|regatta|hybrid|scholarship|coral"
    r"|diving|turtle|shrimp|mural|5g|e-commerce|online shopping|livestream|space station|electric cars?|don't miss|don't forget|remember to"
    r"|be sure to|you'll (?:want|love|enjoy)|recommend|is a must|tips?|do you prefer|do you like|have you (?:ever|tried|been)|would you like|lovely"
    r"|charming|fascinating|delightful|famous for|known for|breathtaking|picturesque|wonderful|fun|cosy|romantic|splendid|gorgeous|stunning"
    r"|relaxing|popular with"
)
_HOUSEHOLD = (
    r"dish|lunch|dinner|apple|pear|orange|peach|fruit|vegetable|soup|stew|tea|milk|butter|honey|rice|bread|cake|barley|duck|lamb|chicken|pork|beef"
    r"|pepper|sauce|cook|cooking|kitchen|bake|beer|wine|liquor|bun|walnut|raisin|visit(?:or|ors|ing)?|holiday|trip|tour|hotel|tram|ferry|dawn|snowy"
    r"|peak|mountain|lake|river|desert|meadow|forest|garden|park|harbou?r|palace|museum|gallery|autumn|spring|summer|winter|season|weather|climate"
    r"|camel|horse|bird|flower|bamboo|photograph|camera|postcard|passport|luggage|jacket|map|poem|poet|novel|literature|songs?|dance|music"
    r"|instrument|drum|flute|lantern|heritage|silk|carpet|jade|costume|film|movie|cinema|theatre|game|puzzle|riddle|sport|football|stamp|collect"
    r"|architecture|craft|pottery|folk|idiom|proverb|joke|exercise|sleep|diet|breathing|posture|router|app|keyboard|battery|furniture|sofa|chair"
    r"|lamp|scarf|fabric|umbrella|cleaning|budget|saving|invest|telescope|planet|steel|concrete|engineering|paper|ink|printing|pencil|shall i"
    r"|come (?:to|in|for)|how about|pretty|friendly|view|quay|journey|walk|evening|weekend|market|boat|sea\b|plum|almond|spoon|roofs?|bridges?"
    r"|theatres?|inhabitants|harvest|wheat|crops?|fertile|university|campus|contract|statue|incense|delivery|rocket|favou?rite|beautiful|colou?rful"
    r"|enjoy|pleasant"
)
_CHINESE = (
    # food and drink
    "美食|好吃|小吃|夜市|特产|伴手礼|早餐|午餐|晚餐|宵夜|菜肴|点心|火锅|烤鸭|奶茶|咖啡|茶叶|喝茶|品茗|面条|拉面|热干面|炸酱面|云吞|饺子|包子|米饭|手抓饭|米粉|羊肉|牛肉|大盘鸡|烧鹅|海鲜|豆腐|水果|葡萄|哈密瓜|荔枝|芒果|凤梨|菠萝"
    "|苹果|石榴汁|甜点|甜品|蛋糕|月饼|粽子|汤圆|烧烤|麻辣|酸甜|口味|味道|美味|尝尝|品尝|吃货|必点|必吃|菜系|食谱|做法|食材|调料|酱油|下厨|餐厅|茶餐厅|冰淇淋|青稞|香甜|馕"
    # travel and scenery
    "|游客|旅游|旅行|旅程|景点|景区|名胜|古迹|地标|打卡|参观|游览|自驾|门票|逛逛|走走|散步|夜景|高铁|车厢|缆车|渡轮|叮叮车|电车|观光|行程|攻略|酒店|民宿|风景|风光|日出|日落|湖光|湖泊|海滩|海边|沙滩|花海|樱花|桂花|牡丹|秋色|红叶"
    "|景色|美景|看海|看山|绿道|雪山|高原反应|草原|沙漠|胡杨|骆驼|熊猫|山水|爬山|登山|露营|温泉|天气|气候|四季|春天|夏天|秋天|冬天|阳光|拍照|相机|外套|行李|骑单车|骑行|公园|博物馆|园林|古镇|胡同|升旗"
    # arts and pleasures
    "|唐诗|宋词|诗词|诗人|一首诗|古诗|书法|国画|戏曲|京剧|昆曲|粤剧|脸谱|歌舞|舞蹈|歌曲|唱歌|乐器|音乐|木卡姆|唐卡|藏戏|文学|名著|红楼梦|西游记|瑰宝|非遗|民俗|春节|中秋|端午|节日|庙会|灯会|刺绣|丝绸|艾德莱斯|编织|图案|陶瓷|瓷器"
    "|剪纸|设计师|设计史|名作|电影|电视剧|游戏|围棋|象棋|麻将|谜语|成语|笑话|爱好|兴趣|足球|篮球|乒乓球|羽毛球|游泳|风筝|手工|收藏|邮票|建筑风格|传统文化"
    # health, household, machines, learning
    "|健身|锻炼|瑜伽|太极|养生|均衡|睡眠|免疫力|健走|跑步|洗手|通风|喝水|维生素|拉伸|冥想|作息|放松|路由器|网速|频段|微波炉|手机|软件|电脑|编程|代码|插座|电池|家具|椅|沙发|雨伞|伞骨|伞布|面料|材质|款式|轻便|防晒|收纳"
    "|装修|洋装|围巾|穿搭|理财|省钱|简历|求职|学外语|背单词|单词|语法|发音|复习|考试技巧|望远镜|海王星|行星|恐龙|混凝土|打印|复印|铅笔|墨水|地震时|天文|望远"
    # how small talk goes on
    "|峡谷|长江|黄河|竹林|大熊猫|四川盆地|憨态|心脏|有益|大纲|写作|细节|打好基础|积累|多读|下午|欣赏|精美|计划|唐卡|祝[您你]|壮丽|分布在|水稻|小麦|农作物|杂交|土壤|大学|专业|奖学金|合同|珊瑚|潜水|海龟|捕鱼|佛像|壁画|香火|寺院建筑|电商|网购|直播|快递|移动支付|空间站|火箭|新能源|发明|造纸|印刷术|书店|图书|阅读|猫|狗|宠物|养花|盆栽|夜晚|周末|假期|朋友|家人|孩子|小朋友|别忘了|记得带|值得一[试去看游]|不妨|推荐|首选|建议您?(?:预留|提前|安排)|一定要[去尝试看]|不得不提|喜欢|感兴趣|有意思|有趣|好玩|惬意|舒服|迷人|魅力|缤纷|闻名|美称|源远流长|方便|适合|体验|享受|浪漫|温馨|漂亮|美丽|您平时|你平时|小贴士|小技巧"
)
WORDS = re.compile(rf"\b(?:{_ENGLISH})(?:e?s)?\b|{_CHINESE}")
"""Each match is one word of pastimes."""
HOUSEHOLD = re.compile(rf"\b(?:{_HOUSEHOLD})(?:e?s)?\b")
"""Words that stand in small talk and anywhere else; they count beside one of the others."""
