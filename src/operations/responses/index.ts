import { CompatError } from '../../base/errors.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import { errorReply } from '../../protocol/error-body.js'

/**
 * `POST /responses`, which refuses with 400. Agents retry a 404 in silence, or take it for a missing model; at a 400 they
 * stop and show its message.
 */
export const responsesEndpoint: Endpoint = {
  method: 'POST',
  path: '/responses',
  async answer(_call, writer) {
    const { status, headers, body } = errorReply(
      new CompatError(
        'invalid_request',
        'The Responses API is not available here; use POST /chat/completions. Most clients have a setting for it.',
      ),
    )
    writer.send(status, headers, body)
  },
}
