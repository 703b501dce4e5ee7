import { describe, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { digestToken } from '../../src/base/tokens.js'
import type { Principal, ProviderAdapter } from '../../src/contracts/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import {
  callCases,
  catalogueCases,
  credentialCases,
  idempotencyCases,
  type RegistryProvider,
  registryCases,
} from '../../src/testing/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'

describe.each(engineNames)('the stores in %s', (name) => {
  const engine = useEngine(name)

  for (const { id, name: sentence, run } of credentialCases) {
    it(`${id}: ${sentence}`, () =>
      run({
        async open(tokens) {
          const stores = await engine.openEmpty({ otherTokens: true })
          for (const [token, principal] of Object.entries(tokens)) await putToken(stores, token, principal)
          return { store: stores.credentials, revoke: createAdmin(stores).keys.revoke, close: stores.close }
        },
      }))
  }

  for (const { id, name: sentence, run } of catalogueCases) {
    it(`${id}: ${sentence}`, () =>
      run({
        async open(models) {
          const stores = await engine.openEmpty()
          const admin = createAdmin(stores)
          for (const model of models) await admin.models.put(model)
          return {
            store: stores.catalogue,
            put: admin.models.put,
            remove: admin.models.remove,
            close: stores.close,
          }
        },
      }))
  }

  for (const { id, name: sentence, run } of registryCases) {
    it(`${id}: ${sentence}`, () =>
      run({
        async open(providers) {
          const adapters = {
            given: ({ index }: { index: number }): ProviderAdapter => providers[index]!.adapter,
          }
          const stores = await engine.openEmpty({
            adapters,
            secretKeys: [{ id: 'k', key: new Uint8Array(32) }],
          })
          for (const [index, provider] of providers.entries()) await putProvider(stores, provider, index)
          return { store: stores.providers, close: stores.close }
        },
      }))
  }

  for (const { id, name: sentence, run } of callCases) {
    it(`${id}: ${sentence}`, () =>
      run({
        async open() {
          const stores = await engine.openEmpty()
          return { store: stores.calls, close: stores.close }
        },
      }))
  }

  for (const { id, name: sentence, run } of idempotencyCases) {
    it(`${id}: ${sentence}`, () =>
      run({
        async open() {
          const stores = await engine.openEmpty()
          return { store: stores.idempotency, close: stores.close }
        },
      }))
  }
})

/** Stores a given token, since administration creates only random ones. */
async function putToken({ database, ...stores }: DurableStores, token: string, principal: Principal) {
  const { credentialId, kind, account, metadata, expiresAt } = principal
  const scopes = kind === 'access-token' ? JSON.stringify(principal.scopes) : null
  if (kind === 'access-token') await createAdmin({ database, ...stores }).apps.put(principal.app)
  await database.batch([
    {
      text: `insert into {credentials} (id, kind, account, app_id, metadata, allowed_models, created_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, 0) on conflict do nothing`,
      parameters: [
        credentialId,
        kind,
        account,
        kind === 'access-token' ? principal.app.id : null,
        metadata === undefined ? null : JSON.stringify(metadata),
        kind === 'api-key' && principal.allowedModels !== undefined
          ? JSON.stringify(principal.allowedModels)
          : null,
      ],
    },
    {
      text: `insert into {tokens} (digest, credential_id, prefix, last_four, scopes, expires_at, created_at)
        values (?1, ?2, '', '', ?3, ?4, 0)`,
      parameters: [
        digestToken(token),
        credentialId,
        scopes,
        expiresAt === undefined ? null : BigInt(expiresAt),
      ],
    },
  ])
}

async function putProvider(stores: DurableStores, provider: RegistryProvider, index: number) {
  const { id, models, adapter: _, secret, ...route } = provider
  for (const [model, upstreamModel] of Object.entries(models)) {
    await createAdmin(stores).routes.put({
      ...route,
      id: `${id}:${model}:${index}`,
      model,
      provider: id,
      adapter: 'given',
      settings: { index },
      upstreamModel,
      ...(secret === undefined ? {} : { secret: secret.reveal() }),
    })
  }
}
