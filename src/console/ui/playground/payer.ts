import type { AccountView, AppView } from '../../protocol.js'

/** Describes the key that the samples need. */
export function tokenNameOf(isOwn: boolean, app: AppView | undefined): string {
  if (isOwn) return 'the token that you pasted'
  return app === undefined ? 'an API key of the account' : `an access token for the app ${app.name ?? app.id}`
}

/** Returns the first account in use that is not the one that earns. */
export function likelyPayer(accounts: readonly AccountView[]): string | undefined {
  const inUse = accounts.filter(({ suspendedAt }) => suspendedAt === undefined)
  return (inUse.find(({ id }) => id !== 'platform') ?? inUse[0] ?? accounts[0])?.id
}

/** Returns the accounts to choose from, which always include the chosen one. */
export function payerOptions(accounts: readonly AccountView[], chosen: string | undefined) {
  const options = accounts.map(({ id, suspendedAt }) => ({
    value: id,
    label: suspendedAt === undefined ? id : `${id} (suspended)`,
  }))
  if (chosen === undefined || accounts.some(({ id }) => id === chosen)) return options
  return [{ value: chosen, label: chosen }, ...options]
}
