import { z } from 'zod'
import { AUDIT_NOUNS, type AuditRow } from '../../admin/audit.js'
import { present } from '../../base/present.js'
import { nameSchema } from '../../rules/schemas.js'
import { get, limitSchema, timeTextSchema } from '../serving/endpoint.js'
import { readPage } from '../serving/page.js'

export const auditEndpoints = [
  get(
    'audit',
    'operator',
    'changes',
    z.strictObject({
      by: nameSchema.optional(),
      noun: z.enum(AUDIT_NOUNS).optional(),
      subjectId: nameSchema.optional(),
      account: nameSchema.optional(),
      from: timeTextSchema.optional(),
      to: timeTextSchema.optional(),
      after: nameSchema.optional(),
      limit: limitSchema(200, 50),
    }),
    async ({ after, limit, ...query }, { admin }) => {
      const list = (page: object) => admin.audit.list({ ...present(query), ...page })
      const { rows, ...next } = await readPage<AuditRow>(list, limit, after, ({ id }) => id)
      return { changes: rows, ...next }
    },
  ),
]
