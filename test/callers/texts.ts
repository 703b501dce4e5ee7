import { createRandom, type Random } from '../simulation/random.js'

/** Texts of the kinds that callers send. Most come from a pool, so that a tokenizer counts each only once. */
interface Kind {
  readonly name: string
  /**
   * Whether a default hold must cover it with any real tokenizer. Not so for noise, which is sent only to be
   * billed for more than the hold: only `neverOverdraw` covers that.
   */
  readonly isSent: boolean
  make(random: Random, chars: number): string
}

/** Sentences of a language, in any order, up to a length. */
function prose(name: string, text: string): Kind {
  const sentences = text.split('|')
  return {
    name,
    isSent: true,
    make: (random, chars) => fill(chars, () => `${random.pick(sentences)} `),
  }
}

function pieces(name: string, piece: (random: Random) => string, isSent = true): Kind {
  return { name, isSent, make: (random, chars) => fill(chars, () => piece(random)) }
}

function fill(chars: number, piece: () => string): string {
  let text = ''
  while (text.length < chars) text += piece()
  // Not within a surrogate pair.
  return text.slice(0, chars).replace(/[\ud800-\udbff]$/, '')
}

const HEX = '0123456789abcdef'
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const PRINTABLE = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join('')
const EMOJI = ['😀', '👩‍👩‍👧‍👦', '🏳️‍🌈', '🇳🇴', '👍🏽', '🧬', '🫠', '🚀', '❤️‍🔥', '🀄', '🕴🏿', '🪆']
/** Each becomes many characters if text is normalised. */
const LIGATURES = ['\ufdfa', '\ufdfb', '\u337f', '\u3316', '\u33af', '\ufb03', '\u2a74']

function letters(random: Random, alphabet: string, count: number): string {
  let text = ''
  for (let index = 0; index < count; index++) text += alphabet[random.int(0, alphabet.length - 1)]!
  return text
}

export const TEXT_KINDS: readonly Kind[] = [
  prose(
    'english',
    'The committee met on Tuesday to discuss the budget for the coming year.|Nobody expected the ferry to be late twice in one week.|Please summarise the attached report in three short paragraphs.|She had never liked the house, although she could not say why.|What would change if interest rates rose by half a point?',
  ),
  prose(
    'code',
    'export async function load(path: string): Promise<Row[]> {\n  const text = await readFile(path, "utf8")\n  return text.split("\\n").map((line) => JSON.parse(line))\n}\n|for (let i = 0; i < rows.length; i++) {\n    if (rows[i].id === id) return rows[i];\n  }\n|def mean(values):\n    return sum(values) / max(len(values), 1)\n|SELECT id, name FROM users WHERE created_at > now() - interval \'7 days\' ORDER BY id;\n',
  ),
  prose(
    'german',
    'Die Bundesregierung hat am Mittwoch einen Gesetzentwurf zur Verfahrensbeschleunigung beschlossen.|Wir fuhren über die Brücke, während es in Strömen goss.|Könnten Sie mir die Rechnungsnummer noch einmal schicken?',
  ),
  prose(
    'russian',
    'Вчера вечером мы долго гуляли по набережной и говорили о книгах.|Пожалуйста, переведите этот текст на английский язык.|Правительство утвердило новые правила для предприятий.',
  ),
  prose(
    'chinese',
    '请把下面的文章翻译成英文，并总结要点。|昨天下午我们在图书馆讨论了明年的计划。|这家餐厅的菜很好吃，但是价格有点贵。|人工智能正在改变我们的工作方式。',
  ),
  prose(
    'japanese',
    '昨日は友達と一緒に映画を見に行きました。|次の文章を要約してください。|東京駅から新幹線に乗って京都へ向かった。|お手数ですが、ご確認のほどよろしくお願いいたします。',
  ),
  prose(
    'korean',
    '어제 친구와 함께 영화를 보러 갔습니다.|다음 글을 세 문장으로 요약해 주세요.|서울에서 부산까지 기차로 두 시간 반 정도 걸립니다.',
  ),
  prose(
    'arabic',
    'اجتمعت اللجنة يوم الثلاثاء لمناقشة ميزانية العام المقبل.|يرجى ترجمة هذا النص إلى اللغة الإنجليزية.|كانت المدينة هادئة في ذلك الصباح الباكر.',
  ),
  prose(
    'hindi',
    'समिति ने अगले वर्ष के बजट पर चर्चा करने के लिए मंगलवार को बैठक की।|कृपया इस पाठ का अंग्रेज़ी में अनुवाद करें।|आज मौसम बहुत अच्छा है और आसमान साफ़ है।',
  ),
  prose(
    'thai',
    'คณะกรรมการประชุมกันเมื่อวันอังคารเพื่อหารือเรื่องงบประมาณปีหน้า|กรุณาแปลข้อความนี้เป็นภาษาอังกฤษ|วันนี้อากาศดีมากและท้องฟ้าแจ่มใส',
  ),
  prose(
    'rare scripts',
    'ሁሉም ሰው በነጻነት ተወለደ በክብርና በመብትም እኩል ነው።|འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་ཆེ་མཐོངས་དང་|ᏂᎦᏓ ᎠᏂᏴᏫ ᏂᎨᎫᏓᎸᎾ ᎠᎴ ᎤᏂᎶᏱ ᎤᎾᏕᎿ|មនុស្សទាំងអស់កើតមកមានសេរីភាព និងសមភាព|ᐃᓅᔪᓕᒫᑦ ᐊᓂᖅᑎᕆᔪᓕᒫᑦ ᐃᓅᓚᐅᕐᒪᑕ|လူတိုင်းသည် တူညီလွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့်',
  ),
  pieces('base64', (random) => letters(random, BASE64, 76)),
  pieces('hex', (random) => letters(random, HEX, 64)),
  pieces('uuids', (random) => `${[8, 4, 4, 4, 12].map((count) => letters(random, HEX, count)).join('-')}\n`),
  pieces(
    'tables of numbers',
    (random) => `${random.int(0, 99_999)}\t${(random.next() * 1e4).toFixed(3)}\t${random.int(-500, 500)}\n`,
  ),
  pieces(
    'json',
    (random) =>
      `{"id":${random.int(1, 1e6)},"tags":["a${random.int(0, 99)}","b"],"at":"2026-11-${random.int(10, 28)}T0${random.int(0, 9)}:00:00Z","ok":${random.chance(0.5)}},`,
  ),
  pieces('emoji', (random) => random.pick(EMOJI)),
  pieces(
    'urls',
    (random) =>
      `https://cdn${random.int(1, 9)}.example.org/a/${letters(random, HEX, 12)}?x=${random.int(0, 9999)}&s=${letters(random, BASE64.slice(0, 62), 20)}\n`,
  ),
  pieces('white space', (random) => random.pick(['    ', '\n\n', '\t', '        x', '\n   - '])),
  pieces(
    'markup',
    (random) => `<td class="c${random.int(0, 99)}" data-k='${letters(random, HEX, 6)}'>&nbsp;</td>`,
  ),
  pieces('punctuation', (random) => letters(random, PRINTABLE, 40), false),
  pieces('control characters', (random) => String.fromCharCode(random.int(1, 31)), false),
  pieces('what HTML escapes', (random) => random.pick(['<', '>', '&', "'", '</a>', '&&']), false),
  // Longer once composed: the mark below takes the place of the one above.
  pieces('marks', (random) => `${random.pick(['\u00e0', '\u00e9', '\u00f6', '\u00fb'])}\u0323`, false),
  pieces('ligatures', (random) => random.pick(LIGATURES), false),
  pieces(
    'noise of all planes',
    (random) => String.fromCodePoint(random.pick([random.int(0xa0, 0xd7ff), random.int(0x10000, 0x1fbff)])),
    false,
  ),
]

export interface PooledText {
  readonly kind: string
  readonly isSent: boolean
  readonly text: string
}

const LENGTHS = [3, 20, 80, 80, 200, 200, 600, 600, 2_000, 6_000]
const POOL_SEED = 'texts'

/** Each kind in each length. */
export const TEXTS: readonly PooledText[] = makePool()

function makePool(): PooledText[] {
  const random = createRandom(POOL_SEED)
  return TEXT_KINDS.flatMap(({ name, isSent, make }) =>
    LENGTHS.map((chars) => ({ kind: name, isSent, text: make(random, chars) })),
  )
}
