import { type ErrorStyle, OPENAI_ERRORS } from '../../../protocol/error-body.js'
import { isObject } from '../../../protocol/json-values.js'

const FAILED = 'event: response.failed\ndata: '

/** OpenAI's error bodies, and the event that ends a failed stream. */
export const RESPONSES_ERRORS: ErrorStyle = {
  body: OPENAI_ERRORS.body,

  // Line ends are escaped within an event, so the last event starts at the last occurrence of its name after one.
  endingCode: (stream) => {
    const last = stream.slice(stream.lastIndexOf('\nevent: ') + 1)
    if (!last.startsWith(FAILED)) return undefined
    const { response } = JSON.parse(last.slice(FAILED.length))
    return isObject(response) && isObject(response.error) ? String(response.error.code) : undefined
  },
}
