import { CompatError } from '../../base/errors.js'
import type { MemoryBudget } from '../../base/memory-budget.js'
import { type MarkupTerms, NO_MARKUP, parseMarkup } from '../../base/prices.js'
import type { Awaitable } from '../../contracts/context.js'
import type {
  CredentialOwner,
  CredentialRefusal,
  CredentialResult,
  Principal,
} from '../../contracts/credentials.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { IncomingCall } from '../../contracts/reply.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { andThen } from '../asking/within.js'
import type { CallerLimits, LimitReader } from '../charging/caller-limits.js'
import type { CallLog } from '../events/call-log.js'
import { faultyStore } from '../failures/store-failures.js'
import type { InFlight } from './in-flight.js'
import type { LookUps } from './look-ups.js'

/** The parts that decide whether a request is admitted. */
export interface Admission {
  readonly options: EngineOptions
  readonly lookUps: LookUps
  readonly inFlight: InFlight
  readonly readLimits: LimitReader
  readonly memory: MemoryBudget
}

/**
 * The caller, the payer, and the app's markup with the account that earns it. Read once: later changes apply to later
 * calls.
 */
export interface Caller {
  readonly principal: Principal
  readonly markup: MarkupTerms
  readonly appAccount: string | undefined
  readonly limits: CallerLimits | undefined
  /** Set for an app that its user has not allowed to read the balance. No refusal and no reply may then show it. */
  readonly hidesBalance: boolean
}

/** An access token without this scope may not show its user's balance. */
export const READ_CREDITS = 'credits.read'
const TOKEN = /^bearer +([\x21-\x7e]{1,8192})\s*$/i
const BARE_TOKEN = /^[\x21-\x7e]{1,8192}$/
const SCHEME = /^bearer(?: |$)/i
const NO_LIST_OF_MODELS = 'allowedModels is not a list of strings'
const NO_MODELS_OF_AN_APP = "allowedModels of the app is neither 'all' nor a list of strings"

/** Finds the payer by the token alone. Notes the owner of a refused credential in the log. */
export function authenticate(
  call: IncomingCall,
  context: LazyContext,
  parts: Pick<Admission, 'lookUps' | 'options' | 'readLimits'>,
  log: CallLog,
  tokenHeader?: string,
): Awaitable<Caller> {
  const token = bareToken(call, tokenHeader) ?? bearerToken(call)
  return andThen(parts.lookUps.find(token, context), (result) => readCaller(result, call, parts, log))
}

function readCaller(
  result: CredentialResult,
  call: IncomingCall,
  { options, readLimits }: Pick<Admission, 'options' | 'readLimits'>,
  log: CallLog,
): Caller {
  const fault = (why: string): CompatError => faultyStore('credentials', options, call.requestId, why)
  if (typeof result !== 'object' || result === null || typeof result.ok !== 'boolean') {
    throw fault('resolve() did not return { ok, … }')
  }
  if (!result.ok) {
    log.caller = readOwner(result.credential, fault)
    throw refusal(result.reason) ?? fault('unknown refusal reason')
  }
  const { principal } = result
  const markup = checkPrincipal(principal, fault)
  const limits = checkLimits(principal, readLimits, fault)
  log.caller = principal
  if (principal.expiresAt !== undefined && principal.expiresAt <= options.wallClock.now())
    throw refusal('expired')
  checkOrigin(call, principal)
  const appAccount = principal.kind === 'access-token' ? principal.app.account : undefined
  const hidesBalance = principal.kind === 'access-token' && !principal.scopes.includes(READ_CREDITS)
  return { principal, markup, appAccount, limits, hidesBalance }
}

/**
 * Returns the token of a header that contains nothing else. Undefined if the request has no such header, or has an
 * `Authorization` header.
 */
function bareToken(call: IncomingCall, name: string | undefined): string | undefined {
  const token = name === undefined || call.authorizationLines > 0 ? undefined : call.header(name)
  if (token === undefined || BARE_TOKEN.test(token)) return token
  throw new CompatError(
    'invalid_api_key',
    `The token in ${name} is malformed: it is one word of 1 to 8,192 visible ASCII characters.`,
  )
}

function bearerToken(call: IncomingCall): string {
  const header = call.header('authorization')
  if (call.authorizationLines > 1) {
    throw new CompatError('invalid_api_key', 'The request has more than one Authorization header; send one.')
  }
  const token = header === undefined ? undefined : TOKEN.exec(header)?.[1]
  if (token !== undefined) return token
  if (header !== undefined && SCHEME.test(header)) {
    throw new CompatError(
      'invalid_api_key',
      'The bearer token is malformed: it is one word of 1 to 8,192 visible ASCII characters.',
    )
  }
  throw new CompatError(
    'missing_credential',
    'No credential: send an API key or access token as "Authorization: Bearer <token>".',
  )
}

function refusal(reason: CredentialRefusal): CompatError | undefined {
  switch (reason) {
    case 'expired':
      return new CompatError('expired_credential', 'This credential has expired.')
    case 'revoked':
      return new CompatError('revoked_credential', 'This credential has been revoked.')
    case 'suspended':
      return new CompatError('account_suspended', 'This account or app is suspended.')
    case 'unknown':
      return new CompatError('invalid_api_key', 'This API key is not known.')
  }
}

/**
 * Refuses a page whose origin may not use the credential. A request without an origin passes: browsers omit it in
 * same-origin GETs, and an attacker outside a browser can send any origin.
 */
function checkOrigin(call: IncomingCall, { origins }: Principal): void {
  const origin = call.header('origin')
  if (origins === undefined || origin === undefined) return
  if (!origins.includes(origin)) {
    throw new CompatError(
      'origin_not_allowed',
      'This credential may not be used by pages of this origin, only by those that it was issued for.',
    )
  }
  call.allowOrigin()
}

/** If a store describes a refused credential wrongly, only the host is told. The refusal stands. */
function readOwner(
  given: CredentialOwner | undefined,
  fault: (why: string) => CompatError,
): CredentialOwner | undefined {
  if (given === undefined) return undefined
  const { account, appId, credentialId } = given ?? {}
  if (isName(account) && isName(credentialId) && (appId === undefined || isName(appId))) {
    return { credentialId, account, appId }
  }
  fault('the refused credential is not { credentialId, account, … }')
  return undefined
}

/** Refuses everybody if the store returns an incomplete principal. */
function checkPrincipal(principal: Principal, fault: (why: string) => CompatError): MarkupTerms {
  if (typeof principal !== 'object' || principal === null) throw fault('the principal is not an object')
  if (!isName(principal.account)) throw fault('the principal has no account')
  if (!isName(principal.credentialId)) throw fault('the principal has no credentialId')
  if (principal.expiresAt !== undefined && !Number.isFinite(principal.expiresAt))
    throw fault('expiresAt is not a number')
  if (principal.label !== undefined && typeof principal.label !== 'string')
    throw fault('label is not a string')
  if (principal.origins !== undefined && !areStrings(principal.origins))
    throw fault('origins is not a list of strings')
  if (principal.kind === 'api-key') {
    const { allowedModels } = principal
    if (allowedModels !== undefined && !areStrings(allowedModels)) throw fault(NO_LIST_OF_MODELS)
    return NO_MARKUP
  }
  if (principal.kind !== 'access-token')
    throw fault('the kind of the principal is neither api-key nor access-token')
  const { app, scopes } = principal
  if (typeof app !== 'object' || app === null || !isName(app.id)) throw fault('an access token has no app')
  if (!areStrings(scopes)) throw fault('scopes is not a list of strings')
  if (app.allowedModels !== 'all' && !areStrings(app.allowedModels)) throw fault(NO_MODELS_OF_AN_APP)
  if (typeof app.markup !== 'object' || app.markup === null) throw fault('the app has no markup')
  if (app.account !== undefined && !isName(app.account)) throw fault('the account of the app is not a name')
  try {
    return parseMarkup(app.markup)
  } catch (error) {
    throw fault(error instanceof Error ? error.message : 'the markup cannot be read')
  }
}

/** Refuses the caller if its limits cannot be read: a limit that is not enforced is no limit. */
function checkLimits(
  { limits }: Principal,
  readLimits: LimitReader,
  fault: (why: string) => CompatError,
): CallerLimits | undefined {
  if (limits === undefined) return undefined
  try {
    const read = readLimits(limits)
    return limits.length === 0 ? undefined : read
  } catch (error) {
    throw fault(error instanceof Error ? error.message : 'the limits cannot be read')
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function areStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
