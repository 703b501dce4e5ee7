import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path/posix'

/** Returns each link of the built pages whose page, file or anchor does not exist, with its page. */
export async function brokenLinks(folder: string): Promise<string[]> {
  const files = new Set(await readdir(folder, { recursive: true }))
  const pages = [...files].filter((name) => name.endsWith('.html'))
  const texts = new Map(
    await Promise.all(pages.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  )
  const ids = new Map(
    [...texts].map(([name, text]) => [
      name,
      new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)),
    ]),
  )
  return [...texts].flatMap(([name, text]) =>
    [...text.matchAll(/<(?:a|img|link|script)\b[^>]*? (?:href|src)="([^"]+)"/g)]
      .map(([, link]) => link!.replaceAll('&amp;', '&'))
      .filter((link) => !/^[a-z]+:/.test(link) && !link.startsWith('//'))
      .filter((link) => {
        const [path = '', anchor] = link.split('#')
        const file = path === '' ? name : path.startsWith('/') ? path.slice(1) : join(dirname(name), path)
        const target = file === '' || file.endsWith('/') ? `${file}index.html` : file
        if (!files.has(target)) return true
        return anchor !== undefined && anchor !== '' && !ids.get(target)?.has(decodeURIComponent(anchor))
      })
      .map((link) => `${name}: ${link}`),
  )
}
