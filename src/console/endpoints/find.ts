import { z } from 'zod'
import { present } from '../../base/present.js'
import { nameSchema } from '../../rules/schemas.js'
import { get } from '../serving/endpoint.js'
import { accountOf } from '../serving/viewer.js'

export const findEndpoints = [
  /** What has the text as its id, or begins with it as its name. For a user, only what belongs to its account. */
  get('find', 'both', 'found', z.strictObject({ text: nameSchema }), async ({ text }, { viewer, admin }) => ({
    found: await admin.find(text, present({ account: accountOf(viewer, undefined) })),
  })),
]
