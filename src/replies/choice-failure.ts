import { ProviderError } from '../base/errors.js'
import {
  isFailureReason,
  ownFinishReason,
  readFinishReason,
  shownFinishReason,
} from '../protocol/finish-reason.js'
import { isText, type JsonObject } from '../protocol/json-values.js'
import { errorInChoice } from '../protocol/reply-errors.js'
import { cleanLabel } from '../protocol/text.js'

/** The most characters of a finish reason that a message quotes. */
const QUOTED_CHARS = 64

/** The failure of a choice, with the provider's own finish reason if there is one. */
export class ChoiceFailure extends ProviderError {
  constructor(
    message: string,
    readonly nativeFinishReason: string | undefined,
  ) {
    super('error-frame', message)
  }
}

/**
 * Returns the finish reason of a choice in the provider's own word. Undefined if there is none yet. Throws a {@link
 * ChoiceFailure} if the choice contains an error, or ended with a reason that means a failure.
 */
export function readEnd(choice: JsonObject): string | undefined {
  const reason = ownFinishReason(choice)
  const isFailed = isFailureReason(reason)
  if (!isFailed && errorInChoice(choice) === undefined) return readFinishReason(reason)
  const native = isText(reason) ? cleanLabel(shownFinishReason(choice, reason)) : undefined
  throw new ChoiceFailure(
    isFailed
      ? `The provider ended its reply with the finish reason '${cleanLabel(native ?? '', QUOTED_CHARS)}'.`
      : 'The provider sent an error in a choice.',
    native,
  )
}

/** Returns the failure for a reply without output that ended with an unknown reason. */
export function endedWithoutOutput(native: string): ChoiceFailure {
  const quoted = cleanLabel(native, QUOTED_CHARS)
  return new ChoiceFailure(
    `The provider ended its reply without output, with the unknown finish reason '${quoted}'.`,
    native,
  )
}
