import { CompatError } from '../../base/errors.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { Operation } from '../../contracts/operation.js'
import { namedSettings } from '../../conversation/chat-fields.js'
import type { ConversationSettings } from '../../conversation/settings.js'
import { errorReply } from '../../protocol/error-body.js'
import { unsupportedFields } from '../chat/unsupported.js'
import { responsesOpenApi } from './openapi.js'
import { ResponsePlan } from './plan.js'
import type { RecentItems } from './recall/recent-items.js'
import { findNamedItems } from './recall/references.js'
import { RESPONSES_ERRORS } from './reply/errors.js'
import { type AskedResponse, parseResponseRequest } from './request/read-request.js'

/** What the Responses API calls the fields of a chat. */
const SPELT_HERE: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['verbosity', 'text.verbosity'],
  ['reasoning_effort', 'reasoning.effort'],
  ['logprobs', 'top_logprobs'],
])

function* fieldsOf(settings: ConversationSettings): Generator<readonly [field: string, value: unknown]> {
  for (const [, field, value] of namedSettings(settings)) yield [field, value]
}

/**
 * `POST /responses`: OpenAI's Responses API without stored replies.
 *
 * @param recent the items of recent replies, which requests can name by their ids. Undefined if none are kept
 */
export const createResponses = (recent?: RecentItems): Operation<AskedResponse> => ({
  name: 'responses',
  path: '/responses',
  scope: 'models.run',
  idPrefix: 'resp_',
  modelOperation: 'chat',
  openapi: responsesOpenApi,
  errors: RESPONSES_ERRORS,
  read: ({ value }) => parseResponseRequest(value),
  unsupported: (asked, supported) =>
    unsupportedFields(fieldsOf(asked.forward.settings), supported).map(
      (field) => SPELT_HERE.get(field) ?? field,
    ),
  plan: (asked, model, options, { principal }) => {
    const callersItems = recent?.of(principal)
    const named = findNamedItems(asked.items, callersItems, options.sizes.bodyBytes)
    return new ResponsePlan(asked, named, model, options, callersItems)
  },

  // References are hashed as sent: a repeat is the same request, and gets the same reply, even if an item is gone by
  // then. Labels cannot change the reply. Neither can the envelope of a provider key, which differs with each sealing.
  digest: ({ include, items, model, own: { provider, routing, sessionId }, settings, stream }) => ({
    items,
    settings,
    include: [...include],
    model,
    stream,
    provider,
    routing,
    sessionId,
  }),
})

/** The paths of a stored reply. All of them answer 404, since no reply is stored. */
export const storedResponseEndpoints: readonly Endpoint[] = (['GET', 'DELETE'] as const).map((method) => ({
  method,
  path: '/responses/{response_id}',
  async answer(_call, writer) {
    const error = new CompatError(
      'not_found',
      'There is no response with this id: no reply is stored here. Send the whole conversation to POST /responses.',
    )
    const { status, headers, body } = errorReply(error)
    writer.send(status, headers, body)
  },
}))
