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
] as const

/** Administration with only these functions. */
export function adminWith(functions: { readonly [Group in keyof Admin]?: Partial<Admin[Group]> }): Admin {
  const groups = GROUPS.map((group) => [group, functions[group] ?? {}])
  return Object.fromEntries(groups) as Admin
}
