import { useEffect, useMemo, useState } from 'preact/hooks'

/** Where one is: `#/calls?model=acme%2Ffast`. Filters stand in it, so that what is seen can be linked to. */
export interface Place {
  readonly page: string
  readonly query: Readonly<Record<string, string | undefined>>
}

function readPlace(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  return { page: path, query: Object.fromEntries(new URLSearchParams(search)) }
}

export function hrefOf(page: string, query: Place['query'] = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, value)
  }
  const text = search.toString()
  return `#/${page}${text === '' ? '' : `?${text}`}`
}

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const follow = (): void => setHash(location.hash)
    window.addEventListener('hashchange', follow)
    follow()
    return () => window.removeEventListener('hashchange', follow)
  }, [])
  return useMemo(() => readPlace(hash), [hash])
}

/** Changes some members of the query and stays on the page. */
export function changeQuery(changes: Place['query']): void {
  const { page, query } = readPlace(location.hash)
  location.hash = hrefOf(page, { ...query, ...changes })
}
