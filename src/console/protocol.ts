import type { z } from 'zod'
import type { ToJson } from '../admin/index.js'
import type { endpoints } from './endpoints/index.js'
import type { Endpoint } from './serving/endpoint.js'

/**
 * The API between the console's pages and its server, derived from its endpoints. Paths are relative to `api/` below the
 * console's mount. Amounts are exact decimal strings of credits (`'-0.0012'`), times are milliseconds since the Unix epoch,
 * days are in UTC. Absent members are omitted, not `null`.
 */
type Table = { readonly [Row in (typeof endpoints)[number] as Row['path']]: Row }

type PathOf<Method extends Endpoint['method']> = {
  [Path in keyof Table]: Table[Path]['method'] extends Method ? Path : never
}[keyof Table]

export type ReadPath = PathOf<'GET'>
export type WritePath = PathOf<'POST'>

export type ReplyOf<Path extends keyof Table> = ToJson<Awaited<ReturnType<Table[Path]['answer']>>>
export type BodyOf<Path extends WritePath> = ToJson<z.input<Table[Path]['schema']>>

/** A query is sent as text, so numbers stand for their digits. */
export type QueryOf<Path extends ReadPath> = {
  readonly [Name in keyof z.input<Table[Path]['schema']>]: Written<z.input<Table[Path]['schema']>[Name]>
}
type Written<Text> = Text | (string extends Text ? number : never)

export type { ErrorReply } from './serving/reply.js'

export type MeReply = ReplyOf<'me'>
export type Viewer = MeReply['viewer']
export type HomeReply = ReplyOf<'home'>
export type PeriodView = HomeReply['month']
export type OwnHomeReply = ReplyOf<'home/account'>
export type FoundView = ReplyOf<'find'>['found'][number]
export type LiveReply = ReplyOf<'live'>
export type EventView = ReplyOf<'events'>['events'][number]
export type SpendReply = ReplyOf<'reports/spend'>
export type SpendRow = SpendReply['rows'][number]
export type SpendOverTimeReply = ReplyOf<'reports/spend-over-time'>
export type SpendBy = QueryOf<'reports/spend'>['by']
export type EntryView = ReplyOf<'entries'>['entries'][number]
export type ChargeView = NonNullable<EntryView['charge']>
export type FactsView = NonNullable<EntryView['facts']>
export type CallView = ReplyOf<'calls'>['calls'][number]
export type CallsOverTimeReply = ReplyOf<'calls/over-time'>
export type CallerView = NonNullable<CallView['caller']>
export type ExplanationView = CallView['explanation']
export type RoutingView = NonNullable<ExplanationView['routing']>
export type AccountView = ReplyOf<'accounts'>['accounts'][number]
export type VerifyReply = ReplyOf<'maintenance/verify'>
export type KeyView = ReplyOf<'keys'>['credentials'][number]
export type IssuedReply = ReplyOf<'keys/issue'>
/** The terms of an app that the person has seen. If the app has worse ones by now, the reply is 409 and no token is made. */
export type NewLimitView = NonNullable<BodyOf<'keys/issue'>['limits']>[number]
export type SeenTerms = NonNullable<BodyOf<'keys/playground'>['terms']>
export type AppView = ReplyOf<'apps'>['apps'][number]
export type OwnAppView = ReplyOf<'user-apps'>['ownApps'][number]
export type ReviewView = ReplyOf<'user-apps/reviews'>['reviews'][number]
export type ConnectedAppView = ReplyOf<'connected-apps'>['connectedApps'][number]
export type DeviceView = ConnectedAppView['devices'][number]
export type ConnectedAppEventView = ReplyOf<'connected-apps/history'>['history'][number]
export type ModelView = ReplyOf<'models'>['models'][number]
export type RouteView = ReplyOf<'routes'>['routes'][number]
export type LimitView = ReplyOf<'accounts'>['limits'][number]
