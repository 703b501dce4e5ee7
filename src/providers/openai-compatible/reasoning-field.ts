import { isObject, isText } from '../../protocol/json-values.js'

export type ReasoningField = 'reasoning' | 'reasoning_content'

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
      if (!isObject(said) || isText(said.reasoning) === isText(said.reasoning_content)) continue
      this.field = isText(said.reasoning) ? 'reasoning' : 'reasoning_content'
    }
  }
}
