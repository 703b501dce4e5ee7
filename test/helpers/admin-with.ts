import type { Admin } from '../../src/admin/index.js'

const GROUPS = [
  'accounts',
  'keys',
  'apps',
  'userApps',
  'connectedApps',
  'models',
  'routes',
  'limits',
  'entries',
  'calls',
  'reports',
  'audit',
] as const

/** Administration with only these functions, whoever uses it. */
export function adminWith(functions: { readonly [Group in keyof Admin]?: Partial<Admin[Group]> }): Admin {
  const groups = GROUPS.map((group) => [group, functions[group] ?? {}])
  const admin: Admin = { ...(Object.fromEntries(groups) as Admin), as: () => admin }
  return admin
}
