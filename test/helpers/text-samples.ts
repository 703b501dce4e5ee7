/** A few sentences in each of many languages, for counting tokens. */
export const PROSE: Readonly<Record<string, string>> = {
  English:
    'The ferry was late again, so we walked along the harbour and talked about the summer. My brother wanted to repair the old boat, although nobody had sailed it for years. In the evening it began to rain, and the whole village came together in the small hall behind the church.',
  German:
    'Die Fähre hatte wieder Verspätung, also gingen wir am Hafen entlang und sprachen über den Sommer. Mein Bruder wollte das alte Boot ausbessern, obwohl es seit Jahren niemand mehr gesegelt hatte. Die Gemeindeverwaltung kündigte Straßenbaumaßnahmen an.',
  French:
    'Le bateau avait encore du retard, alors nous avons marché le long du port en parlant de l’été. Mon frère voulait réparer la vieille barque, bien que personne ne l’ait menée en mer depuis des années. Le soir, il s’est mis à pleuvoir.',
  Spanish:
    'El barco llegó tarde otra vez, así que caminamos por el puerto y hablamos del verano. Mi hermano quería arreglar la vieja barca, aunque nadie había navegado en ella desde hacía años. Por la noche empezó a llover.',
  Finnish:
    'Lautta oli taas myöhässä, joten kävelimme satamaa pitkin ja puhuimme kesästä. Veljeni halusi korjata vanhan veneen, vaikka kukaan ei ollut purjehtinut sillä vuosiin. Illalla alkoi sataa, ja koko kylä kokoontui kirkon taakse pieneen saliin.',
  Hungarian:
    'A komp megint késett, ezért végigsétáltunk a kikötőn, és a nyárról beszélgettünk. A bátyám meg akarta javítani a régi csónakot, pedig évek óta senki sem vitorlázott vele. Este eleredt az eső.',
  Turkish:
    'Vapur yine geç kaldı, biz de liman boyunca yürüyüp yazdan konuştuk. Ağabeyim eski tekneyi onarmak istiyordu, oysa yıllardır kimse onunla denize açılmamıştı. Akşam yağmur başladı ve bütün köy küçük salonda toplandı.',
  Polish:
    'Prom znowu się spóźnił, więc poszliśmy wzdłuż portu i rozmawialiśmy o lecie. Mój brat chciał naprawić starą łódź, choć od lat nikt na niej nie żeglował. Wieczorem zaczęło padać i cała wieś zebrała się w małej sali.',
  Vietnamese:
    'Chuyến phà lại đến muộn, nên chúng tôi đi bộ dọc bến cảng và nói chuyện về mùa hè. Anh trai tôi muốn sửa chiếc thuyền cũ, dù đã nhiều năm không ai dùng nó ra khơi. Buổi tối trời bắt đầu mưa.',
  Swahili:
    'Kivuko kilichelewa tena, kwa hiyo tulitembea kando ya bandari tukizungumza juu ya kiangazi. Kaka yangu alitaka kutengeneza mashua ya zamani, ingawa hakuna mtu aliyeitumia kwa miaka mingi.',
  Indonesian:
    'Kapal itu terlambat lagi, jadi kami berjalan di sepanjang pelabuhan dan berbicara tentang musim panas. Kakak saya ingin memperbaiki perahu tua itu, walaupun sudah bertahun-tahun tidak ada yang memakainya.',
  Russian:
    'Паром снова опоздал, поэтому мы пошли вдоль гавани и говорили о лете. Мой брат хотел починить старую лодку, хотя на ней уже много лет никто не выходил в море. Вечером начался дождь.',
  Ukrainian:
    'Пором знову запізнився, тож ми пішли вздовж гавані й говорили про літо. Мій брат хотів полагодити старий човен, хоча на ньому вже багато років ніхто не плавав.',
  Greek:
    'Το πλοίο άργησε πάλι, έτσι περπατήσαμε κατά μήκος του λιμανιού και μιλήσαμε για το καλοκαίρι. Ο αδελφός μου ήθελε να επισκευάσει την παλιά βάρκα.',
  Arabic:
    'تأخرت العبّارة مرة أخرى، فمشينا على طول الميناء وتحدثنا عن الصيف. أراد أخي أن يصلح القارب القديم، مع أن أحدًا لم يبحر به منذ سنوات.',
  Persian:
    'کشتی دوباره دیر کرد، پس کنار بندر قدم زدیم و دربارهٔ تابستان حرف زدیم. برادرم می‌خواست قایق قدیمی را تعمیر کند.',
  Hebrew:
    'המעבורת שוב איחרה, ולכן הלכנו לאורך הנמל ודיברנו על הקיץ. אחי רצה לתקן את הסירה הישנה, אף שאיש לא הפליג בה שנים.',
  Hindi:
    'नाव फिर देर से आई, इसलिए हम बंदरगाह के किनारे चले और गर्मियों के बारे में बात की। मेरा भाई पुरानी नाव की मरम्मत करना चाहता था।',
  Bengali: 'ফেরিটি আবার দেরি করল, তাই আমরা বন্দরের ধারে হাঁটলাম আর গ্রীষ্মের কথা বললাম। আমার ভাই পুরোনো নৌকাটি সারাতে চেয়েছিল।',
  Tamil: 'படகு மீண்டும் தாமதமாக வந்தது, எனவே நாங்கள் துறைமுகத்தின் வழியே நடந்து கோடைக்காலத்தைப் பற்றிப் பேசினோம்.',
  Thai: 'เรือข้ามฟากมาสายอีกแล้ว เราจึงเดินเลียบท่าเรือและคุยกันเรื่องฤดูร้อน พี่ชายของฉันอยากซ่อมเรือลำเก่า',
  Chinese:
    '渡船又晚点了，于是我们沿着港口散步，谈起了夏天。我哥哥想修好那条旧船，虽然已经多年没有人驾驶它出海了。傍晚开始下雨，全村人都聚到教堂后面的小礼堂里。',
  'traditional Chinese':
    '渡船又誤點了，於是我們沿著港口散步，談起了夏天。我哥哥想修好那條舊船，雖然已經多年沒有人駕駛它出海了。',
  Japanese:
    'フェリーがまた遅れたので、私たちは港に沿って歩きながら夏の話をした。兄は古い舟を直したがっていたが、もう何年も誰も乗っていなかった。',
  Korean:
    '배가 또 늦어서 우리는 항구를 따라 걸으며 여름 이야기를 했다. 형은 낡은 배를 고치고 싶어 했지만 몇 년 동안 아무도 그 배를 타지 않았다.',
  Georgian: 'ბორანი ისევ დაგვიანდა, ამიტომ ნავსადგურის გასწვრივ გავისეირნეთ და ზაფხულზე ვისაუბრეთ.',
  Armenian: 'Լաստանավը կրկին ուշացավ, ուստի մենք քայլեցինք նավահանգստի երկայնքով և խոսեցինք ամառվա մասին։',
  Amharic: 'መርከቡ እንደገና ዘገየ፣ ስለዚህ በወደቡ ዳር እየሄድን ስለ በጋ ተነጋገርን።',
  Tibetan: 'གྲུ་ཆེན་ཡང་བསྐྱར་འགྱངས་པས་ང་ཚོ་མཚོ་འགྲམ་དུ་ཕྱིན་ནས་དབྱར་ཁའི་སྐོར་བཤད།',
  Khmer: 'ទូកចម្លងមកយឺតម្ដងទៀត ដូច្នេះយើងដើរតាមកំពង់ផែ ហើយនិយាយអំពីរដូវក្ដៅ។',
  Burmese: 'ကူးတို့သင်္ဘော ထပ်နောက်ကျသဖြင့် ကျွန်ုပ်တို့ ဆိပ်ကမ်းတစ်လျှောက် လမ်းလျှောက်ကြသည်။',
  Cherokee: 'ᏥᏳ ᎤᎵᎶᎲᏍᎬ ᎥᏝ ᏱᎦᎷᎪ ᎠᎴ ᎣᎦᎵᏃᎮᏔᏅ ᎪᎩ ᎨᏒᎢ',
}

export const CODE: Readonly<Record<string, string>> = {
  TypeScript: `export async function load(path: string, limit = 100): Promise<readonly Row[]> {
  const text = await readFile(path, 'utf8')
  const rows = text.split('\\n').filter((line) => line.trim() !== '').map(parseRow)
  if (rows.length > limit) throw new RangeError(\`Too many rows: \${rows.length}\`)
  return rows.sort((one, other) => one.createdAt - other.createdAt)
}
`,
  Python: `def moving_average(values: list[float], window: int = 5) -> list[float]:
    """Return the average of each run of values."""
    if window < 1:
        raise ValueError("window must be positive")
    result = []
    for index in range(len(values) - window + 1):
        chunk = values[index:index + window]
        result.append(sum(chunk) / len(chunk))
    return result
`,
  Go: `func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.URL.Query().Get("id"))
	if err != nil {
		http.Error(w, "bad id", http.StatusBadRequest)
		return
	}
	user, ok := s.users[id]
	if !ok {
		http.NotFound(w, r)
		return
	}
	json.NewEncoder(w).Encode(user)
}
`,
  C: `static int find_entry(const struct table *t, const char *name, size_t len)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->entries[i].len == len && memcmp(t->entries[i].name, name, len) == 0)
			return (int)i;
	}
	return -1;
}
`,
  SQL: `SELECT u.id, u.name, count(o.id) AS orders, sum(o.total) AS total
FROM users u LEFT JOIN orders o ON o.user_id = u.id
WHERE u.created_at > now() - interval '30 days' AND u.deleted_at IS NULL
GROUP BY u.id, u.name HAVING count(o.id) > 3 ORDER BY total DESC LIMIT 50;
`,
}
