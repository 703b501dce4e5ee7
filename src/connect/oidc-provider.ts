import type { IncomingMessage, ServerResponse } from 'node:http'

/** The parts of the package `oidc-provider` that are used here. The package has no types of its own. */
export interface OidcModule {
  readonly Provider: (new (
    issuer: string,
    configuration: object,
  ) => OidcProvider) & {
    /** The context of the request that is being served, if there is one. */
    readonly ctx: OidcContext | undefined
  }
  readonly errors: {
    readonly InvalidGrant: new (detail: string) => Error
    readonly InvalidScope: new (description: string, scope: string) => Error
    readonly InvalidTarget: new () => Error
  }
  readonly interactionPolicy: {
    readonly Prompt: new (settings: { name: string; requestable: boolean }, ...checks: object[]) => object
    readonly Check: new (
      reason: string,
      description: string,
      error: string,
      check: (context: OidcContext) => boolean,
    ) => object
  }
}

export interface OidcProvider {
  proxy: boolean
  readonly AccessToken: TokenClass
  readonly RefreshToken: TokenClass
  readonly Interaction: { find(id: string): Promise<Interaction | undefined> }
  callback(): (req: IncomingMessage, res: ServerResponse) => Promise<void>
  interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<Interaction>
  interactionResult(req: IncomingMessage, res: ServerResponse, result: object): Promise<string>
  use(middleware: (context: OidcContext, next: () => Promise<void>) => Promise<void>): void
  on(event: string, listener: (...values: never[]) => void): void
}

interface TokenClass {
  readonly prototype: { format?: string; generateTokenId(): string }
}

/** A Koa context with the library's additions. */
export interface OidcContext {
  status: number
  type: string
  body: unknown
  readonly response: { get(name: string): string | string[]; set(name: string, value: string[]): void }
  set(headers: Readonly<Record<string, string>>): void
  remove(name: string): void
  readonly oidc?: {
    readonly route: string
    readonly params: Readonly<Record<string, string | undefined>>
    readonly requestParamScopes: ReadonlySet<string>
    readonly result?: { readonly consent?: object }
    readonly client?: OidcClient
    readonly entities: { readonly Grant?: { readonly exp?: number } }
  }
}

export interface OidcClient {
  readonly clientId: string
  readonly redirectUris: readonly string[]
}

/** An error as in the library's events. */
export interface OidcError extends Error {
  /** The OAuth error if `expose` is set. */
  readonly message: string
  readonly expose?: boolean
  readonly error_description?: string
}

/** An authorization request that waits for its user. */
export interface Interaction {
  readonly uid: string
  readonly returnTo: string
  readonly params: Readonly<Record<string, string | undefined>>
  destroy(): Promise<void>
}

/** The functions that the library calls to keep its rows. */
export interface OidcAdapter {
  upsert(id: string, payload: Payload, expiresInSeconds: number): Promise<void>
  find(id: string): Promise<Payload | undefined>
  findByUid(uid: string): Promise<Payload | undefined>
  findByUserCode(userCode: string): Promise<undefined>
  consume(id: string): Promise<void>
  destroy(id: string): Promise<void>
  revokeByGrantId(grantId: string): Promise<void>
}

export type Payload = Readonly<Record<string, unknown>>

/** Loads the library. Rejects with instructions if it is not installed. */
export async function loadOidcProvider(): Promise<OidcModule> {
  try {
    // @ts-expect-error: the package has no types.
    return (await import('oidc-provider')) as OidcModule
  } catch (cause) {
    throw new Error('compat-router/connect needs the package oidc-provider: npm install oidc-provider@9', {
      cause,
    })
  }
}
