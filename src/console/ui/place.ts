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

/** What the page follows: from the moment an address is given until its event comes, the address is another's. */
let followed = location.hash

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const follow = (): void => {
      followed = location.hash
      setHash(followed)
    }
    window.addEventListener('hashchange', follow)
    follow()
    return () => window.removeEventListener('hashchange', follow)
  }, [])
  return useMemo(() => readPlace(hash), [hash])
}

/** Changes some members of the query and stays on the page; on a page that is being left, nothing. */
export function changeQuery(changes: Place['query']): void {
  if (location.hash !== followed) return
  const { page, query } = readPlace(followed)
  location.hash = hrefOf(page, { ...query, ...changes })
  followed = location.hash
}
