import { z } from 'zod'
import type { CredentialStore, Watch } from '../contracts/index.js'
import { readOptions, withMethods } from '../rules/read-options.js'
import { mustBe } from '../rules/schema-faults.js'
import { UNKNOWN } from './claims.js'

const LIST = 'a list of credential stores'
const storesSchema = z
  .array(
    z.custom<CredentialStore>(() => true),
    mustBe(LIST),
  )
  .min(1, `must be ${LIST}`)

/**
 * Joins credential stores. The first store that recognises a token by its shape decides alone, so a store without
 * `recognises` must be the last. Throws a `TypeError` for any other order.
 */
export function firstCredentials(stores: readonly CredentialStore[]): CredentialStore {
  const given = [...readOptions(storesSchema, stores, 'firstCredentials', { field: 'stores' })]
  for (const [index, store] of given.entries()) {
    const schema =
      index === given.length - 1
        ? withMethods<CredentialStore>('resolve')
        : withMethods<CredentialStore>('resolve', 'recognises')
    readOptions(schema, store, 'firstCredentials', { field: `stores.${index}` })
  }
  const watching = given.filter((store) => store.watch !== undefined)
  return {
    recognises: (token) => given.some((store) => recognises(store, token)),
    resolve(token, context) {
      const store = given.find((each) => recognises(each, token))
      return store === undefined ? UNKNOWN : store.resolve(token, context)
    },
    ...(watching.length > 0 && { watch: watchAll(watching) }),
  }
}

function recognises(store: CredentialStore, token: string): boolean {
  return store.recognises === undefined || store.recognises(token)
}

/** The connection counts as lost if that of any store is. */
function watchAll(stores: readonly CredentialStore[]): Watch {
  return (changed, connection) => {
    const lost = new Set<CredentialStore>()
    const ends = stores.map((store) =>
      store.watch!(changed, (connected) => {
        if (connected) lost.delete(store)
        else lost.add(store)
        connection?.(lost.size === 0)
      }),
    )
    return () => {
      for (const end of ends) end()
    }
  }
}
