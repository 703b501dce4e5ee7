import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base'
import llama3 from 'llama3-tokenizer-js'
import { LRUCache } from 'lru-cache'

/**
 * A provider's way to count text. Three are real tokenizers. The fourth represents those that normalise text
 * first and know few scripts: everything outside ASCII costs its bytes.
 */
export type Tokenizer = 'o200k' | 'cl100k' | 'llama3' | 'bytes-after-nfkc'

/** Real tokenizers, which may count prose of any script. */
export const REAL_TOKENIZERS: readonly Tokenizer[] = ['o200k', 'cl100k', 'llama3']

const NO_SPECIAL_TOKENS = { disallowedSpecial: new Set<string>() }

const COUNTERS: Readonly<Record<Tokenizer, (text: string) => number>> = {
  o200k: (text) => countO200k(text, NO_SPECIAL_TOKENS),
  cl100k: (text) => countCl100k(text, NO_SPECIAL_TOKENS),
  llama3: (text) => llama3.encode(text, { bos: false, eos: false }).length,
  'bytes-after-nfkc': (text) => {
    const normal = text.normalize('NFKC')
    const ascii = normal.replace(/[^\0-\x7f]/g, '')
    return COUNTERS.o200k(ascii) + Buffer.byteLength(normal) - ascii.length
  },
}

/** Texts come from a pool, so that most have been counted before. */
const known = new LRUCache<string, number>({ max: 20_000, maxSize: 32_000_000, sizeCalculation: sizeOf })

function sizeOf(_count: number, key: string): number {
  return key.length + 1
}

export function countTokens(tokenizer: Tokenizer, text: string): number {
  if (text === '') return 0
  const key = `${tokenizer}:${text}`
  let count = known.get(key)
  if (count === undefined) {
    count = COUNTERS[tokenizer](text)
    known.set(key, count)
  }
  return count
}
