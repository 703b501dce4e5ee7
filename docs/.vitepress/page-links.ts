import { dirname, join } from 'node:path/posix'

const FENCE = /^( *)```[^\n]*\n.*?^\1```$/gms
/** A link or a picture. The text may contain a picture, but no other link. */
const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g
const EXAMPLES = 'examples'

/**
 * Returns a document of the repository as a page of the site. Links to other documents become links to their pages, and
 * links to files that the site does not have become plain text. Directives of code blocks, which are for the tests, go.
 */
export function forSite(markdown: string, file: string, known: ReadonlyMap<string, string>): string {
  const fences: string[] = []
  const prose = markdown.replace(FENCE, (fence) => {
    fences.push(fence.replace(/^( *```\w*)[^\n]*/, '$1'))
    return `\0${fences.length - 1}\0`
  })
  const linked = prose.replace(LINK, (link, picture: string, text: string, target: string) => {
    if (/^(?:[a-z]+:|#)/.test(target) || picture !== '')
      return picture === '' ? link : `![${text}](${pictureOf(target)})`
    const [path = '', anchor] = target.split('#')
    const name = pageOf(join(dirname(file), path), known)
    return name === undefined ? text : `[${text}](./${name}.md${anchor === undefined ? '' : `#${anchor}`})`
  })
  return linked.replace(/\0(\d+)\0/g, (_, index) => fences[Number(index)]!)
}

/** The page of a file of the repository, or undefined if the site has none. */
function pageOf(file: string, known: ReadonlyMap<string, string>): string | undefined {
  return file === EXAMPLES || file.startsWith(`${EXAMPLES}/`) ? EXAMPLES : known.get(file)
}

const pictureOf = (target: string) =>
  /^[a-z]+:/.test(target) ? target : `./${target.replace(/^docs\//, '')}`
