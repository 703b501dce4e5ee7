import { MEDIA_UNITS } from '../../base/units.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isCount, type MediaCounts, type UsageReport } from '../../protocol/usage.js'

/**
 * Reads audio and image tokens from the provider's own usage report, in the format of OpenAI or Gemini. The AI SDK's
 * specification does not have them.
 */
export function readMediaCounts(raw: unknown): Pick<UsageReport, keyof MediaCounts> {
  if (!isObject(raw)) return {}
  const input = detailsOf(raw, ['prompt_tokens_details', 'input_tokens_details', 'promptTokensDetails'])
  const output = detailsOf(raw, [
    'completion_tokens_details',
    'output_tokens_details',
    'candidatesTokensDetails',
  ])
  return Object.fromEntries(
    MEDIA_UNITS.map(({ name, side, kind, wire }) => [
      name,
      countOf(side === 'input' ? input : output, wire, kind.toUpperCase()),
    ]),
  )
}

function detailsOf(raw: JsonObject, names: readonly string[]): unknown {
  return names.map((name) => raw[name]).find((details) => details !== undefined && details !== null)
}

/** Gemini lists a count for each modality. */
function countOf(details: unknown, name: string, modality: string): unknown {
  if (!Array.isArray(details)) return isObject(details) ? details[name] : undefined
  const counts = details.filter((detail) => isObject(detail) && detail.modality === modality)
  if (counts.length === 0) return undefined
  const values = counts.map(({ tokenCount }): unknown => tokenCount)
  const wrong = values.find((value) => !isCount(value))
  return wrong ?? values.filter(isCount).reduce((sum, count) => sum + count, 0)
}
