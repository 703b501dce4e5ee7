/**
 * What the console's pages and its server say to each other. Types only: both sides import this file.
 *
 * Paths are relative to the console's mount. Amounts are exact decimal strings of credits (`'-0.0012'`), times are
 * milliseconds since the Unix epoch, days are of UTC. What is absent is left out; nothing is `null`.
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
 * | GET `api/events` | both | `EventsQuery` | `EventsReply` |
 * | GET `api/accounts` | both | `AccountsQuery` | `AccountsReply` |
 * | POST `api/accounts/open` | operator | `AccountBody` | `AccountReply` |
 * | POST `api/accounts/grant` | operator | `GrantBody` | `PostedReply` |
 * | POST `api/accounts/correct` | operator | `GrantBody` | `PostedReply` |
 * | POST `api/accounts/suspend` | operator | `AccountBody` | `AccountReply` |
 * | POST `api/accounts/resume` | operator | `AccountBody` | `AccountReply` |
 * | GET `api/credentials` | both | `CredentialsQuery` | `CredentialsReply` |
 * | POST `api/credentials/playground` | both | `PlaygroundBody` | `IssuedReply` |
 * | POST `api/credentials/issue-key` | both | `IssueKeyBody` | `IssuedReply` |
 * | POST `api/credentials/issue-token` | both | `IssueTokenBody` | `IssuedReply` |
 * | POST `api/credentials/reissue` | both | `ReissueBody` | `IssuedReply` |
 * | POST `api/credentials/revoke` | both | `CredentialBody` | `DoneReply` |
 * | GET `api/apps` | both | | `AppsReply` |
 * | POST `api/apps/put` | operator | `PutAppBody` | `DoneReply` |
 * | POST `api/apps/suspend` | operator | `IdBody` | `DoneReply` |
 * | POST `api/apps/resume` | operator | `IdBody` | `DoneReply` |
 * | GET `api/models` | both | | `ModelsReply` |
 * | POST `api/models/put` | operator | `PutModelBody` | `DoneReply` |
 * | POST `api/models/remove` | operator | `IdBody` | `DoneReply` |
 * | GET `api/routes` | operator | | `RoutesReply` |
 * | POST `api/routes/put` | operator | `PutRouteBody` | `PutRouteReply` |
 * | POST `api/routes/remove` | operator | `IdBody` | `DoneReply` |
 * | POST `api/routes/rotate-secrets` | operator | `{}` | `RotatedReply` |
 * | POST `api/books/verify` | operator | `{}` | `VerifyReply` |
 *
 * Failures are `ErrorReply`: 400 for what cannot be read, 401 where nobody is signed in, 403 for what only an
 * operator may or a request from another site, 404 for what is not there or not the viewer's, 405, 409 for a reference
 * or a secret that is taken and for a change of what somebody else has changed since, 413, 415, 500. POST takes `content-type: application/json`.
 */
export type * from './administration.js'
export type * from './ledger.js'
export type * from './viewer.js'
