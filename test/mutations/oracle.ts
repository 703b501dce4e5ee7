import * as anthropic from './anthropic.js'
import { type Expected, Hearing } from './hearing.js'
import type { Mutant } from './mutate.js'
import * as openai from './openai.js'
import * as sdk from './sdk.js'
import { parsed, readEvents } from './sse.js'

/** Says how a reply has to reach a client. Reads it at once and slowly, and shares no code with the router. */
export function expectedOf(mutant: Mutant, stream: boolean): Expected {
  const { language } = mutant
  const countsThoughts = language === 'gemini'
  if (mutant.result !== undefined) {
    const hearing = new Hearing(true)
    if (mutant.ending === 'hang-up') hearing.fail('invalid')
    else sdk.hearResult(hearing, mutant.result, language as 'aisdk-v3')
    return hearing.expected(stream)
  }
  if (mutant.parts !== undefined) {
    const hearing = new Hearing(false)
    sdk.hearStream(hearing, mutant.parts, language as 'aisdk-v3')
    if (mutant.ending === 'hang-up') hearing.fail('invalid')
    return hearing.expected(stream)
  }
  const isWhole = mutant.ending === 'end'
  const start = mutant.bytes.toString('utf8').replace(/^[\s\uFEFF]+/, '')
  if (start.startsWith('{')) {
    const hearing = new Hearing(true, language !== 'anthropic')
    const body = isWhole ? parsed(start) : undefined
    if (body === undefined) hearing.fail('invalid')
    else if (language === 'anthropic') anthropic.hearBody(hearing, body)
    else openai.hearBody(hearing, body, countsThoughts)
    return hearing.expected(stream)
  }
  const hearing = new Hearing(false)
  if (!/^[:deir]/.test(start)) hearing.fail('invalid')
  else {
    const items = readEvents(mutant.bytes, isWhole)
    if (language === 'anthropic') anthropic.hearStream(hearing, items)
    else openai.hearStream(hearing, items, countsThoughts)
  }
  return hearing.expected(stream)
}
