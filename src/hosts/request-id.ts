const ACCEPTED = /^[A-Za-z0-9._:/+=@-]{1,128}$/
const MAX_CHARACTERS = 128
const NOT_ACCEPTED = /[^A-Za-z0-9._:/+=@-]/g

export interface RequestId {
  readonly id: string
  /** Whether the host has already put it on the response. */
  readonly isOnResponse: boolean
}

/** Returns the id that a host has put on the response, otherwise the client's if it is acceptable, otherwise a new one. */
export function requestIdOf(
  sent: string | readonly string[] | undefined,
  set: string | number | readonly string[] | undefined,
  newId: () => string,
): RequestId {
  if (set !== undefined && set !== '') {
    // A host may have copied the client's header, so the id is checked before stores and events receive it.
    const text = Array.isArray(set) ? set.join(',') : String(set)
    const id = ACCEPTED.test(text) ? text : text.slice(0, MAX_CHARACTERS).replace(NOT_ACCEPTED, '_')
    return { id, isOnResponse: true }
  }
  return { id: typeof sent === 'string' && ACCEPTED.test(sent) ? sent : newId(), isOnResponse: false }
}
