import { emptySchema, post } from '../serving/endpoint.js'

export const maintenanceEndpoints = [
  post('maintenance/verify', 'operator', 'isSound', emptySchema, async (_, { admin }) => {
    const discrepancies = await admin.maintenance.verify()
    return { isSound: discrepancies.length === 0, discrepancies }
  }),
  post('maintenance/rotate-secrets', 'operator', 'count', emptySchema, async (_, { admin }) => ({
    count: await admin.maintenance.rotateSecrets(),
  })),
]
