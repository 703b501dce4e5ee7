import type { BodyOf, ErrorReply, QueryOf, ReadPath, ReplyOf, WritePath } from '../../protocol.js'
import { Problem } from './problem.js'

/** Dispatched when the server no longer knows the viewer; has a detail if the viewer signed out. */
export const SIGNED_OUT_EVENT = 'console-signed-out'

/** By path, a member of every reply. The build takes them from the table of endpoints. */
declare const MARKS: Readonly<Record<ReadPath | WritePath, string>>

/** Returns the path of a query, relative to the console. Empty members are omitted. */
export function pathOf<Path extends ReadPath>(path: Path, query: QueryOf<Path>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value))
  }
  const text = search.toString()
  return `api/${path}${text === '' ? '' : `?${text}`}`
}

export function read<Path extends ReadPath>(
  path: Path,
  query: QueryOf<Path>,
  signal?: AbortSignal,
): Promise<ReplyOf<Path>> {
  return call(path, pathOf(path, query), signal === undefined ? {} : { signal })
}

export function write<Path extends WritePath>(
  path: Path,
  body: BodyOf<Path>,
  options: Pick<RequestInit, 'keepalive'> = {},
): Promise<ReplyOf<Path>> {
  return call(path, `api/${path}`, { ...options, ...posting(body) })
}

/** Ends the session by a POST to the path that the server named. */
export async function signOut(path: string): Promise<void> {
  await ask(path, posting({}), (reply): reply is object => reply !== undefined)
}

function posting(body: object): RequestInit {
  const headers = { 'content-type': 'application/json' }
  return { method: 'POST', headers, body: JSON.stringify(body) }
}

async function call<Path extends ReadPath | WritePath>(
  path: Path,
  address: string,
  init: RequestInit,
): Promise<ReplyOf<Path>> {
  const mark = MARKS[path]
  return ask(address, init, (body): body is ReplyOf<Path> => mark in body)
}

/** Also refuses a reply that is not an object. */
async function ask<Reply extends object>(
  address: string,
  init: RequestInit,
  isReply: (body: object) => body is Reply,
): Promise<Reply> {
  const response = await fetch(address, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw error
    throw new Problem(
      'The server cannot be reached. Check that it is running and that you are online, then try again.',
    )
  })
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok) {
    if (typeof body === 'object' && body !== null && isReply(body)) return body
    throw new Problem(
      'Something other than the console answered, perhaps a sign-in page or a server of another version. Sign in again in another tab, or reload this page.',
    )
  }
  const { status } = response
  if (status === 401 && address !== 'api/me') {
    window.dispatchEvent(new Event(SIGNED_OUT_EVENT))
    throw new Problem('The session has ended: nothing was read or changed. Try again.', { status })
  }
  const error = (body as Partial<ErrorReply> | null | undefined)?.error
  throw new Problem(error?.message ?? `The server replied with status ${status} and gave no reason.`, {
    status,
    field: error?.field,
  })
}
