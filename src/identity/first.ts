import type { CredentialStore, Watch } from '../contracts/index.js'
import { requireMethods } from '../rules/option-checks.js'
import { UNKNOWN } from './claims.js'

/**
 * Joins credential stores. The first store that recognises a token by its shape decides alone, so a store without
 * `recognises` must be the last. Throws a `TypeError` for any other order.
 */
export function firstCredentials(stores: readonly CredentialStore[]): CredentialStore {
  if (!Array.isArray(stores) || stores.length === 0) {
    throw new TypeError('firstCredentials takes a list of credential stores.')
  }
  const given: readonly CredentialStore[] = [...stores]
  for (const [index, store] of given.entries()) {
    const isLast = index === given.length - 1
    requireMethods(
      `firstCredentials: store ${index}`,
      store,
      isLast ? ['resolve'] : ['resolve', 'recognises'],
    )
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
