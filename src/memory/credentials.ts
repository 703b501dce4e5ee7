import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.js'
import { OptionsError } from '../base/options-error.js'
import type {
  AccessToken,
  ApiKey,
  Credential,
  CredentialRefusal,
  CredentialResult,
  CredentialStore,
  Principal,
  Watch,
} from '../contracts/index.js'
import { optionsSchema, readOptions, withMethods } from '../rules/read-options.js'
import {
  appModelsSchema,
  keysSchema,
  labelSchema,
  limitsSchema,
  markupSchema,
  metadataSchema,
  momentSchema,
  nameSchema,
  originsSchema,
  scopesSchema,
} from '../rules/schemas.js'
import { createWatchers } from './watchers.js'

/** A {@link Principal}. By default its `credentialId` is the first 16 hex digits of the token's digest. */
export type MemoryCredential = Omit<Credential, 'credentialId'> & { readonly credentialId?: string } & (
    | ApiKey
    | AccessToken
  )

export interface MemoryCredentials extends CredentialStore {
  readonly watch: Watch
  /** Adds a token, or replaces the credential of a known one. Returns its `credentialId`. */
  put(token: string, credential: MemoryCredential): string
  /** Refuses every token with this id as `revoked` from now on. Returns whether one existed. */
  revoke(credentialId: string): boolean
  /** Refuses every token of this account as `suspended`, tokens added later included. */
  suspend(account: string): void
  /** Undoes {@link suspend}. */
  resume(account: string): void
}

export interface MemoryCredentialsOptions {
  /** Decides when a token has expired. The system's clock by default. */
  readonly clock?: Clock
}

interface Row {
  readonly found: CredentialResult
  readonly principal: Principal
  revoked: boolean
}

const ID_DIGITS = 16

/**
 * Credentials by token, in memory. It keeps SHA-256 digests of the tokens, never the tokens. Each credential is checked
 * (a `TypeError` names the fault), copied and frozen.
 */
export function memoryCredentials(
  tokens: Readonly<Record<string, MemoryCredential>> = {},
  options: MemoryCredentialsOptions = {},
): MemoryCredentials {
  const { clock = systemClock } = readOptions(storeSchema, options, 'memoryCredentials')
  const rows = new Map<string, Row>()
  const suspended = new Set<string>()
  const watchers = createWatchers()

  function put(token: string, credential: unknown, what: string): string {
    const digest = digestOf(token, what)
    const row = readRow(credential, digest.slice(0, ID_DIGITS), what)
    const before = rows.get(digest)?.principal.credentialId
    rows.set(digest, row)
    const { credentialId } = row.principal
    if (before !== undefined && before !== credentialId) watchers.notify(before)
    watchers.notify(credentialId)
    return credentialId
  }

  function notifyOwners(account: string): void {
    const ids = new Set<string>()
    for (const { principal } of rows.values()) {
      if (principal.account === account) ids.add(principal.credentialId)
    }
    for (const id of ids) watchers.notify(id)
  }

  // A message must not show a token, so it names the token's position.
  const given = Object.entries(
    readOptions(tokensSchema, tokens, 'memoryCredentials', { field: 'credentials' }),
  )
  for (const [position, [token, credential]] of given.entries()) {
    put(token, credential, `credentials.${position}`)
  }

  return {
    watch: watchers.watch,
    put: (token, credential) => put(token, credential, 'credential'),
    resolve(token) {
      const row = rows.get(hash('sha256', token))
      if (row === undefined) return UNKNOWN
      if (row.revoked) return refuse('revoked', row.principal)
      const { expiresAt, account } = row.principal
      if (expiresAt !== undefined && expiresAt <= clock.now()) return refuse('expired', row.principal)
      return suspended.has(account) ? refuse('suspended', row.principal) : row.found
    },
    revoke(credentialId) {
      let known = false
      for (const row of rows.values()) {
        if (row.principal.credentialId !== credentialId) continue
        row.revoked = true
        known = true
      }
      if (known) watchers.notify(credentialId)
      return known
    },
    suspend(account) {
      suspended.add(account)
      notifyOwners(account)
    },
    resume(account) {
      suspended.delete(account)
      notifyOwners(account)
    },
  }
}

const UNKNOWN: CredentialResult = Object.freeze({ ok: false, reason: 'unknown' })

function refuse(reason: CredentialRefusal, principal: Principal): CredentialResult {
  const { credentialId, account } = principal
  const app = principal.kind === 'access-token' ? { appId: principal.app.id } : {}
  return { ok: false, reason, credential: { credentialId, account, ...app } }
}

const TOKEN_PATTERN = /^[\x21-\x7e]{1,8192}$/

function digestOf(token: string, field: string): string {
  if (typeof token !== 'string' || !TOKEN_PATTERN.test(token)) {
    throw badToken(
      field,
      'must have a token of 1 to 8,192 visible ASCII characters, the only ones that a Bearer header can contain',
    )
  }
  // `{ [process.env.KEY]: … }` yields this token if the variable is not set, and anybody could guess it.
  if (token === 'undefined') {
    throw badToken(field, 'has the word undefined as its token: is a variable not set?')
  }
  return hash('sha256', token)
}

function badToken(field: string, problem: string): OptionsError {
  return new OptionsError({ code: 'invalid_option', where: 'memoryCredentials', field, problem })
}

const storeSchema = optionsSchema<MemoryCredentialsOptions>({
  clock: withMethods<Clock>('now').optional(),
})

const tokensSchema = z.record(z.string(), z.unknown())

const bearerFields = {
  credentialId: nameSchema.optional(),
  account: nameSchema,
  expiresAt: momentSchema.optional(),
  limits: limitsSchema.optional(),
  label: labelSchema.optional(),
  origins: originsSchema.optional(),
  metadata: metadataSchema.optional(),
}

const appSchema = z
  .strictObject({
    id: nameSchema,
    name: z.string().optional(),
    markup: markupSchema,
    allowedModels: appModelsSchema(),
    account: nameSchema.optional(),
  })
  .readonly()

const credentialSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('api-key'), ...bearerFields, allowedModels: keysSchema().optional() }),
  z.strictObject({
    kind: z.literal('access-token'),
    ...bearerFields,
    app: appSchema,
    scopes: scopesSchema,
  }),
])

function readRow(credential: unknown, digestId: string, field: string): Row {
  const read = readOptions(credentialSchema, credential, 'memoryCredentials', { field })
  const principal: Principal = Object.freeze({ ...read, credentialId: read.credentialId ?? digestId })
  return { principal, found: Object.freeze({ ok: true, principal }), revoked: false }
}
