import type { CallError } from './reply-reader.js'

const BY_CODE: Readonly<Record<string, string>> = {
  insufficient_credits:
    'Grant the account credits, choose a cheaper model, or set a smaller max_tokens, which reduces the hold.',
  credits_on_hold: 'Other calls hold these credits. Wait for them to end, or set a smaller max_tokens.',
  model_not_found: 'Choose a model from the list.',
  model_not_allowed:
    'The app or the key may not use this model. Choose another one, or another key, or have the app changed.',
  unsupported_parameter: 'Leave the parameter empty, or choose a model that takes it.',
  invalid_api_key:
    'This key is not known here. Check that it was copied completely, or let the console make one.',
  revoked_credential: 'This key was revoked. Make another under Keys.',
  expired_credential: 'This key has expired. Make another under Keys.',
  insufficient_scope: 'The access token lacks the scope models.run. Issue one that has it.',
  account_suspended: 'The account or the app is suspended. An operator can resume it.',
  price_missing: 'The model has no prices, so nobody may call it. An operator can set them under Models.',
  no_route_available:
    'No route serves this model, or all are failing. Live shows their state. An operator can add one under Routes.',
  no_route_matches: 'The routing preferences of the request leave no route. Relax them.',
  rate_limited: 'Wait a moment and send it again.',
  context_length_exceeded: 'Start a new conversation, or choose a model with a longer context.',
  provider_auth_failed: "The provider refuses the host's key. An operator can set another under Routes.",
  unreadable:
    'The reply is under Frames. If something other than the router answered, such as a sign-in page, reload this page.',
  provider_timeout: 'The provider took too long. Send it again, or try another model.',
}

const BY_STATUS: readonly (readonly [from: number, advice: string])[] = [
  [
    500,
    'This is not your fault. Send it again in a moment. With the request id, the operator can find the call.',
  ],
  [429, 'Wait a moment and send it again.'],
  [400, 'Correct what the message names, and send it again.'],
]

/** Returns advice for an error. */
export function adviceOn({ code, status }: CallError): string {
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code]!
  const found = BY_STATUS.find(([from]) => status >= from)
  return found?.[1] ?? 'The part that arrived is shown above. Send the message again if it is not enough.'
}
