/**
 * The API between the console's pages and its server. Types only: both sides import this file.
 *
 * Paths are relative to the console's mount. Amounts are exact decimal strings of credits (`'-0.0012'`), times are
 * milliseconds since the Unix epoch, days are in UTC. Absent members are omitted, not `null`.
 *
 * | method and path | who | query or body | reply |
 * |---|---|---|---|
 * | GET `api/me` | both | | `MeReply` |
 * | GET `api/live` | both | | `LiveReply` |
 * | GET `api/spend` | both | `SpendQuery` | `SpendReply` |
 * | GET `api/spend.csv` | both | `SpendQuery` | a file |
 * | GET `api/statement` | both | `AccountQuery` | `StatementReply` |
 * | GET `api/calls` | both | `CallsQuery` | `CallsReply` |
 * | GET `api/calls.csv` | both | `CallsQuery` without `after`, `limit` | a file |
 * | POST `api/calls/refund` | operator | `RefundBody` | `PostedReply` |
 * | GET `api/kept-calls` | both | `KeptCallsQuery` | `KeptCallsReply` |
 * | GET `api/kept-calls.csv` | both | `KeptCallsQuery` without `after`, `limit` | a file |
 * | GET `api/events` | both | `EventsQuery` | `EventsReply` |
 * | GET `api/accounts` | both | `AccountsQuery` | `AccountsReply` |
 * | POST `api/accounts/open` | operator | `AccountBody` | `AccountReply` |
 * | POST `api/accounts/grant` | operator | `GrantBody` | `PostedReply` |
 * | POST `api/accounts/correct` | operator | `GrantBody` | `PostedReply` |
 * | POST `api/accounts/suspend` | operator | `AccountBody` | `AccountReply` |
 * | POST `api/accounts/resume` | operator | `AccountBody` | `AccountReply` |
 * | GET `api/credentials` | both | `CredentialsQuery` | `CredentialsReply` |
 * | GET `api/credentials/spend` | both | `KeySpendQuery` | `KeySpendReply` |
 * | POST `api/credentials/playground` | both | `PlaygroundBody` | `IssuedReply` |
 * | POST `api/credentials/issue-key` | both | `IssueKeyBody` | `IssuedReply` |
 * | POST `api/credentials/issue-token` | both | `IssueTokenBody` | `IssuedReply` |
 * | POST `api/credentials/reissue` | both | `ReissueBody` | `IssuedReply` |
 * | POST `api/credentials/revoke` | both | `CredentialBody` | `DoneReply` |
 * | GET `api/apps` | both | `AppsQuery` | `AppsReply` |
 * | POST `api/apps/put` | operator | `PutAppBody` | `DoneReply` |
 * | POST `api/apps/suspend` | operator | `IdBody` | `DoneReply` |
 * | POST `api/apps/resume` | operator | `IdBody` | `DoneReply` |
 * | POST `api/apps/logo` | operator | `LogoBody` | `DoneReply` |
 * | POST `api/apps/remove` | operator | `IdBody` | `DoneReply` |
 * | GET `api/app-reviews` | operator | `OwnPageQuery` | `ReviewsReply` |
 * | GET `api/app-reviews/logo` | operator | `ReviewLogoQuery` | a picture |
 * | POST `api/app-reviews/decide` | operator | `DecideBody` | `DoneReply` |
 * | GET `api/own-apps` | users who publish | `OwnPageQuery` | `OwnAppsReply` |
 * | POST `api/own-apps/put` | users who publish | `OwnAppBody` | `OwnAppReply` |
 * | POST `api/own-apps/logo` | users who publish | `LogoBody` | `OwnAppReply` |
 * | POST `api/own-apps/ask` | users who publish | `IdBody` | `DoneReply` |
 * | POST `api/own-apps/remove` | users who publish | `IdBody` | `DoneReply` |
 * | GET `api/grants` | both | `AppGrantsQuery` | `AppGrantsReply` |
 * | GET `api/grants/history` | both | `AppGrantBody` | `GrantHistoryReply` |
 * | POST `api/grants/cap` | both | `GrantCapBody` | `DoneReply` |
 * | POST `api/grants/revoke` | both | `AppGrantBody` | `DoneReply` |
 * | POST `api/grants/remove-device` | both | `DeviceBody` | `DoneReply` |
 * | GET `api/models` | both | | `ModelsReply` |
 * | POST `api/models/put` | operator | `PutModelBody` | `DoneReply` |
 * | POST `api/models/remove` | operator | `IdBody` | `DoneReply` |
 * | GET `api/routes` | operator | | `RoutesReply` |
 * | POST `api/routes/put` | operator | `PutRouteBody` | `PutRouteReply` |
 * | POST `api/routes/remove` | operator | `IdBody` | `DoneReply` |
 * | POST `api/routes/rotate-secrets` | operator | `{}` | `RotatedReply` |
 * | POST `api/books/verify` | operator | `{}` | `VerifyReply` |
 * | POST `api/limits/put` | operator | `LimitBody` | `DoneReply` |
 * | POST `api/limits/remove` | operator | `IdBody` | `DoneReply` |
 *
 * Failures are `ErrorReply`: 400 for invalid input, 401 if nobody is signed in, 403 if only an operator may do this or
 * the request is from another site, 404 if an item does not exist or is not the viewer's, 405, 409 if a reference or a
 * secret is taken or somebody else has changed the item since, 413, 415, 429 if too many queries of a user wait, 500.
 * POST requires `content-type: application/json`.
 */
export type * from './administration.js'
export type * from './connect.js'
export type * from './kept-calls.js'
export type * from './ledger.js'
export type * from './limits.js'
export type * from './viewer.js'
