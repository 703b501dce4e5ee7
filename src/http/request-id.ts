import type { IncomingMessage, ServerResponse } from 'node:http'

const ACCEPTED = /^[A-Za-z0-9._:/+=@-]{1,128}$/
const MAX_CHARACTERS = 128
const NOT_ACCEPTED = /[^A-Za-z0-9._:/+=@-]/g

export interface RequestId {
  readonly id: string
  /** Whether the host has already put it on the response. */
  readonly isOnResponse: boolean
}

/** Returns the host's id of a request, otherwise the client's if it is acceptable, otherwise a new one. */
export function requestIdOf(req: IncomingMessage, res: ServerResponse, newId: () => string): RequestId {
  const set = res.getHeader('x-request-id')
  if (set !== undefined && set !== '') {
    // A host may have copied the client's header, so the id is checked before stores and events receive it.
    const text = Array.isArray(set) ? set.join(',') : String(set)
    const id = ACCEPTED.test(text) ? text : text.slice(0, MAX_CHARACTERS).replace(NOT_ACCEPTED, '_')
    return { id, isOnResponse: true }
  }
  const sent = req.headers['x-request-id']
  return { id: typeof sent === 'string' && ACCEPTED.test(sent) ? sent : newId(), isOnResponse: false }
}
