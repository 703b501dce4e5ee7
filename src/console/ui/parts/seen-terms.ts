import type { AppsReply, SeenTerms } from '../../protocol/index.js'

/** Returns the terms of an app as the page shows them, so that no token is made on worse ones. */
export function seenTerms({ allowedModels, markup }: AppsReply['apps'][number]): SeenTerms {
  return { models: allowedModels, markup }
}
