import { CompatError } from '../base/errors.js'
import { cleanLabel, isPlainText } from './text.js'

const MODEL_KEY_BYTES = 256
const SHOWN_CHARS = 128

/** Whether a string can be a model key: 1 to 256 bytes of well-formed text. Any other string is not looked up. */
export function isModelKey(text: string): boolean {
  return (
    text !== '' &&
    text.length <= MODEL_KEY_BYTES &&
    Buffer.byteLength(text) <= MODEL_KEY_BYTES &&
    isPlainText(text)
  )
}

/** Returns the 404 for an unknown model. It names the key, cleaned and cut to 128 characters. */
export function modelNotFound(modelKey: string): CompatError {
  return new CompatError(
    'model_not_found',
    `The model '${cleanLabel(modelKey, SHOWN_CHARS)}' does not exist. GET /models lists those that do.`,
    { param: 'model' },
  )
}
