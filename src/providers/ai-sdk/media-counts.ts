import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isCount, type UsageReport } from '../../protocol/usage.js'

type MediaCounts = Pick<UsageReport, 'audioInput' | 'audioOutput' | 'imageInput' | 'imageOutput'>

/**
 * Reads audio and image tokens from the provider's own usage report, in the format of OpenAI or Gemini. The AI SDK's
 * specification does not have them.
 */
export function readMediaCounts(raw: unknown): MediaCounts {
  if (!isObject(raw)) return {}
  const input = detailsOf(raw, ['prompt_tokens_details', 'input_tokens_details', 'promptTokensDetails'])
  const output = detailsOf(raw, [
    'completion_tokens_details',
    'output_tokens_details',
    'candidatesTokensDetails',
  ])
  return {
    audioInput: countOf(input, 'audio_tokens', 'AUDIO'),
    audioOutput: countOf(output, 'audio_tokens', 'AUDIO'),
    imageInput: countOf(input, 'image_tokens', 'IMAGE'),
    imageOutput: countOf(output, 'image_tokens', 'IMAGE'),
  }
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
