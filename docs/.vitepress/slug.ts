/** Returns the anchor that GitHub gives to a heading, so that a link works there, on npm and on the site. */
export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
