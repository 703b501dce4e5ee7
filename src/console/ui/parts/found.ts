import type { AppView, SeenTerms } from '../../protocol.js'
import { nameWithId } from '../base/format.js'
import { useLoad } from '../base/use-load.js'
import type { Found, Option } from './fields.js'

/** Looks up apps by a part of their name or id, for a field. */
export function useFoundApps(part: string): Found & { readonly apps: readonly AppView[] } {
  const { data } = useLoad('apps', { search: part.trim(), limit: 100 })
  const apps = data?.apps ?? []
  return { apps, options: apps.map(appOption), isMore: data?.next !== undefined }
}

export function appOption(app: AppView): Option {
  return { value: app.id, label: nameWithId(app) }
}

/** Looks up accounts by the beginning of their id, for a field. */
export function useFoundAccounts(part: string): Found {
  const { data } = useLoad('accounts', { after: part.trim(), limit: 100 })
  const options = data?.accounts.map(({ id }) => ({ value: id, label: id })) ?? []
  return { options, isMore: data?.next !== undefined }
}

/** Returns the terms of an app as the page shows them, so that no token is made on worse ones. */
export function seenTerms({ allowedModels, markup }: AppView): SeenTerms {
  return { models: allowedModels, markup }
}
