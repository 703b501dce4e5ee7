/** The accounts whose calls fill the memory. */
export const ACCOUNTS = ['alice', 'bob', 'carol', 'dave'] as const
