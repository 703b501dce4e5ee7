import type * as protocol from '../../protocol/index.js'
import { Problem } from './problem.js'

/** Dispatched when the server no longer knows the viewer; has a detail if the viewer signed out. */
export const SIGNED_OUT_EVENT = 'console-signed-out'

interface Reads {
  'api/me': { query: object; reply: protocol.MeReply }
  'api/live': { query: object; reply: protocol.LiveReply }
  'api/spend': { query: protocol.SpendQuery; reply: protocol.SpendReply }
  'api/statement': { query: protocol.AccountQuery; reply: protocol.StatementReply }
  'api/calls': { query: protocol.CallsQuery; reply: protocol.CallsReply }
  'api/kept-calls': { query: protocol.KeptCallsQuery; reply: protocol.KeptCallsReply }
  'api/events': { query: protocol.EventsQuery; reply: protocol.EventsReply }
  'api/accounts': { query: protocol.AccountsQuery; reply: protocol.AccountsReply }
  'api/credentials': { query: protocol.CredentialsQuery; reply: protocol.CredentialsReply }
  'api/credentials/spend': { query: protocol.KeySpendQuery; reply: protocol.KeySpendReply }
  'api/apps': { query: protocol.AppsQuery; reply: protocol.AppsReply }
  'api/app-reviews': { query: protocol.OwnPageQuery; reply: protocol.ReviewsReply }
  'api/own-apps': { query: protocol.OwnPageQuery; reply: protocol.OwnAppsReply }
  'api/grants': { query: protocol.AppGrantsQuery; reply: protocol.AppGrantsReply }
  'api/grants/history': { query: protocol.AppGrantBody; reply: protocol.GrantHistoryReply }
  'api/models': { query: object; reply: protocol.ModelsReply }
  'api/routes': { query: object; reply: protocol.RoutesReply }
}

interface Writes {
  'api/calls/refund': { body: protocol.RefundBody; reply: protocol.PostedReply }
  'api/accounts/open': { body: protocol.AccountBody; reply: protocol.AccountReply }
  'api/accounts/grant': { body: protocol.GrantBody; reply: protocol.PostedReply }
  'api/accounts/correct': { body: protocol.GrantBody; reply: protocol.PostedReply }
  'api/accounts/suspend': { body: protocol.AccountBody; reply: protocol.AccountReply }
  'api/accounts/resume': { body: protocol.AccountBody; reply: protocol.AccountReply }
  'api/credentials/playground': { body: protocol.PlaygroundBody; reply: protocol.IssuedReply }
  'api/credentials/issue-key': { body: protocol.IssueKeyBody; reply: protocol.IssuedReply }
  'api/credentials/issue-token': { body: protocol.IssueTokenBody; reply: protocol.IssuedReply }
  'api/credentials/reissue': { body: protocol.ReissueBody; reply: protocol.IssuedReply }
  'api/credentials/revoke': { body: protocol.CredentialBody; reply: protocol.DoneReply }
  'api/apps/put': { body: protocol.PutAppBody; reply: protocol.DoneReply }
  'api/apps/suspend': { body: protocol.IdBody; reply: protocol.DoneReply }
  'api/apps/resume': { body: protocol.IdBody; reply: protocol.DoneReply }
  'api/apps/logo': { body: protocol.LogoBody; reply: protocol.DoneReply }
  'api/apps/remove': { body: protocol.IdBody; reply: protocol.DoneReply }
  'api/app-reviews/decide': { body: protocol.DecideBody; reply: protocol.DoneReply }
  'api/own-apps/put': { body: protocol.OwnAppBody; reply: protocol.OwnAppReply }
  'api/own-apps/logo': { body: protocol.LogoBody; reply: protocol.OwnAppReply }
  'api/own-apps/ask': { body: protocol.IdBody; reply: protocol.DoneReply }
  'api/own-apps/remove': { body: protocol.IdBody; reply: protocol.DoneReply }
  'api/grants/cap': { body: protocol.GrantCapBody; reply: protocol.DoneReply }
  'api/grants/revoke': { body: protocol.AppGrantBody; reply: protocol.DoneReply }
  'api/grants/remove-device': { body: protocol.DeviceBody; reply: protocol.DoneReply }
  'api/models/put': { body: protocol.PutModelBody; reply: protocol.DoneReply }
  'api/models/remove': { body: protocol.IdBody; reply: protocol.DoneReply }
  'api/routes/put': { body: protocol.PutRouteBody; reply: protocol.PutRouteReply }
  'api/routes/remove': { body: protocol.IdBody; reply: protocol.DoneReply }
  'api/routes/rotate-secrets': { body: object; reply: protocol.RotatedReply }
  'api/limits/put': { body: protocol.LimitBody; reply: protocol.DoneReply }
  'api/limits/remove': { body: protocol.IdBody; reply: protocol.DoneReply }
  'api/books/verify': { body: object; reply: protocol.VerifyReply }
}

export type ReadPath = keyof Reads
export type QueryOf<Path extends ReadPath> = Reads[Path]['query']
export type ReplyOf<Path extends ReadPath> = Reads[Path]['reply']
export type WritePath = keyof Writes

/** A member of every reply at a path. It distinguishes the reply from anything else that may answer in its place. */
const MARKS: {
  readonly [Path in ReadPath]: keyof Reads[Path]['reply']
} & { readonly [Path in WritePath]: keyof Writes[Path]['reply'] } = {
  'api/me': 'viewer',
  'api/live': 'inFlight',
  'api/spend': 'rows',
  'api/statement': 'sum',
  'api/calls': 'entries',
  'api/kept-calls': 'calls',
  'api/events': 'events',
  'api/accounts': 'accounts',
  'api/credentials': 'credentials',
  'api/credentials/spend': 'spend',
  'api/apps': 'apps',
  'api/app-reviews': 'reviews',
  'api/own-apps': 'ownApps',
  'api/grants': 'grants',
  'api/grants/history': 'history',
  'api/models': 'models',
  'api/routes': 'routes',
  'api/calls/refund': 'entry',
  'api/accounts/open': 'account',
  'api/accounts/grant': 'entry',
  'api/accounts/correct': 'entry',
  'api/accounts/suspend': 'account',
  'api/accounts/resume': 'account',
  'api/credentials/playground': 'token',
  'api/credentials/issue-key': 'token',
  'api/credentials/issue-token': 'token',
  'api/credentials/reissue': 'token',
  'api/credentials/revoke': 'done',
  'api/apps/put': 'done',
  'api/apps/suspend': 'done',
  'api/apps/resume': 'done',
  'api/apps/logo': 'done',
  'api/apps/remove': 'done',
  'api/app-reviews/decide': 'done',
  'api/own-apps/put': 'inReview',
  'api/own-apps/logo': 'inReview',
  'api/own-apps/ask': 'done',
  'api/own-apps/remove': 'done',
  'api/grants/cap': 'done',
  'api/grants/revoke': 'done',
  'api/grants/remove-device': 'done',
  'api/models/put': 'done',
  'api/models/remove': 'done',
  'api/routes/put': 'done',
  'api/routes/remove': 'done',
  'api/routes/rotate-secrets': 'count',
  'api/limits/put': 'done',
  'api/limits/remove': 'done',
  'api/books/verify': 'isSound',
}

/** Returns the path of a query, relative to the console. Empty members are omitted. */
export function pathOf(path: string, query: object): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value))
  }
  const text = search.toString()
  return text === '' ? path : `${path}?${text}`
}

export function read<Path extends ReadPath>(
  path: Path,
  query: QueryOf<Path>,
  signal?: AbortSignal,
): Promise<ReplyOf<Path>> {
  return ask(pathOf(path, query), signal === undefined ? {} : { signal }, MARKS[path])
}

export function write<Path extends WritePath>(
  path: Path,
  body: Writes[Path]['body'],
  options: Pick<RequestInit, 'keepalive'> = {},
): Promise<Writes[Path]['reply']> {
  return post(path, body, options, MARKS[path])
}

/** Ends the session by a POST to the path that the server named. */
export function signOut(path: string): Promise<unknown> {
  return post(path, {})
}

function post<Reply>(
  path: string,
  body: object,
  options: RequestInit = {},
  mark?: PropertyKey,
): Promise<Reply> {
  const headers = { 'content-type': 'application/json' }
  return ask(path, { ...options, method: 'POST', headers, body: JSON.stringify(body) }, mark)
}

async function ask<Reply>(path: string, init: RequestInit, mark?: PropertyKey): Promise<Reply> {
  const response = await fetch(path, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw error
    throw new Problem(
      'The server cannot be reached. Check that it is running and that you are online, then try again.',
    )
  })
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok) {
    if (isReply(body, mark)) return body as Reply
    throw new Problem(
      'Something other than the console answered, perhaps a sign-in page or a server of another version. Sign in again in another tab, or reload this page.',
    )
  }
  const { status } = response
  if (status === 401 && path !== 'api/me') {
    window.dispatchEvent(new Event(SIGNED_OUT_EVENT))
    throw new Problem('The session has ended: nothing was read or changed. Try again.', { status })
  }
  const error = (body as Partial<protocol.ErrorReply> | null | undefined)?.error
  throw new Problem(error?.message ?? `The server replied with status ${status} and gave no reason.`, {
    status,
    field: error?.field,
  })
}

function isReply(body: unknown, mark: PropertyKey | undefined): boolean {
  return typeof body === 'object' && body !== null && (mark === undefined || mark in body)
}
