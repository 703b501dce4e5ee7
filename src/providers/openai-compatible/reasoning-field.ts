import { isObject, isText, type JsonObject } from '../../protocol/json-values.js'
import { parseLoosely } from '../provider-json.js'

export type ReasoningField = 'reasoning' | 'reasoning_content'

/** Reasoning comes first in a reply, so only the first events of a stream are searched for it. */
const SEARCHED_EVENTS = 8

/**
 * The field in which a provider sends reasoning. It wants the reasoning of earlier replies in the same field, but clients
 * send it back in the one that they read. Learned from the members of its replies, which no caller can name.
 */
export class ProviderReasoning {
  field: ReasoningField | undefined

  /** Learns from the parsed choices of a reply. If they have both fields, either is fine. */
  learn(choices: unknown): void {
    if (!Array.isArray(choices)) return
    for (const choice of choices) {
      const said = isObject(choice) ? (choice.delta ?? choice.message) : undefined
      if (!isObject(said)) continue
      const field = fieldOf(said)
      if (field !== undefined) this.field = field
    }
  }
}

/** Searches one stream. */
export class ReasoningSearch {
  private events = 0

  constructor(private readonly provider: ProviderReasoning) {}

  /** @param data an event, which is only parsed if it may contain reasoning */
  search(data: string): void {
    if (this.events >= SEARCHED_EVENTS) return
    this.events++
    if (data.indexOf('"reasoning') < 0) return
    const chunk = parseLoosely(data)
    if (isObject(chunk)) this.provider.learn(chunk.choices)
  }
}

function fieldOf({ reasoning, reasoning_content: content }: JsonObject): ReasoningField | undefined {
  if (isText(reasoning) === isText(content)) return undefined
  return isText(reasoning) ? 'reasoning' : 'reasoning_content'
}
