import type { AppView, SeenTerms } from '../../protocol.js'

/** Returns the terms of an app as the page shows them, so that no token is made on worse ones. */
export function seenTerms({ allowedModels, markup }: AppView): SeenTerms {
  return { models: allowedModels, markup }
}
