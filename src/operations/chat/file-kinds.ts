import type { MediaTokens } from '../../contracts/catalogue.js'

/** The kinds of files that a model does not read as text. */
export type FileKind = keyof MediaTokens

/** This many bytes identify the kind. A PDF may start anywhere in the first kibibyte. */
export const HEAD_BYTES = 1_024 + 5

/** The first bytes of files, in hexadecimal. */
const STARTS: readonly (readonly [pattern: RegExp, ...kinds: FileKind[]])[] = [
  [/^89504e470d0a1a0a/, 'image'], // PNG
  [/^ffd8ff/, 'image'], // JPEG
  [/^47494638(?:37|39)61/, 'image'], // GIF
  [/^52494646.{8}57454250/, 'image'], // WebP
  [/^424d.{8}00000000/, 'image'], // BMP
  [/^(?:49492a00|4d4d002a)/, 'image'], // TIFF
  [/^00000100/, 'image'], // ICO
  [/^0000000c6a(?:502020|584c20)/, 'image'], // JPEG 2000, JPEG XL
  [/^494433/, 'audio'], // MP3 with a title
  [/^ff(?:e[2-7]|f[0-9a-d])/, 'audio'], // a frame of MP3 or AAC
  [/^52494646.{8}57415645/, 'audio'], // WAV
  [/^664c6143/, 'audio'], // FLAC
  [/^464f524d.{8}414946(?:43|46)/, 'audio'], // AIFF
  [/^2321414d52/, 'audio'], // AMR
  [/^4f676753/, 'audio', 'video'], // Ogg
  [/^1a45dfa3/, 'audio', 'video'], // WebM, Matroska
  [/^3026b2758e66cf11/, 'audio', 'video'], // ASF
  [/^52494646.{8}41564920/, 'video'], // AVI
  [/^464c5601/, 'video'], // FLV
  [/^000001b[3a]/, 'video'], // MPEG
  [/^47.{374}47/, 'video'], // MPEG transport stream
  [/^504b(?:0304|0506)/, 'archive'], // ZIP, Office files, EPUB
  [/^d0cf11e0a1b11ae1/, 'archive'], // older Office files
  [/^1f8b/, 'archive'], // gzip
  [/^377abcaf271c/, 'archive'], // 7z
  [/^526172211a07/, 'archive'], // RAR
  [/^.{514}7573746172/, 'archive'], // tar
  [/^425a68/, 'archive'], // bzip2
  [/^fd377a585a00/, 'archive'], // xz
  [/^28b52ffd/, 'archive'], // Zstandard
  [/^4d534346/, 'archive'], // CAB
]
const PDF_HEADER = '%PDF-'
/** Files of MP4 and its relatives have this marker, followed by a brand. */
const BRAND_MARK = 'ftyp'
const IMAGE_BRAND = /^(?:hei[cmsx]|hev[cmsx]|mif1|msf1|avi[fs])$/
const AUDIO_BRAND = /^M4[AB] $/

const ARCHIVE_TYPE =
  /\b(?:zip|x-zip-compressed|gzip|x-gzip|x-7z-compressed|vnd\.rar|x-rar-compressed|x-tar|x-bzip2?|x-xz|zstd)\b|officedocument|opendocument|msword|ms-(?:excel|powerpoint)|\+zip\b/
const ENDINGS: Readonly<Record<FileKind, string>> = {
  image: 'png jpg jpeg jpe jfif gif webp bmp tif tiff ico jp2 jxl heic heif avif',
  audio: 'mp3 wav flac aif aiff aifc amr ogg oga opus m4a m4b aac weba wma mka',
  video: 'mp4 m4v mov qt webm mkv avi flv mpg mpeg mpe ts wmv asf ogv 3gp 3gpp',
  pdf: 'pdf',
  archive: 'zip docx docm xlsx xlsm pptx pptm odt ods odp epub gz tgz 7z rar tar bz2 xz zst cab doc xls ppt',
}
const KIND_OF_ENDING: ReadonlyMap<string, FileKind> = new Map(
  (Object.keys(ENDINGS) as FileKind[]).flatMap((kind) =>
    ENDINGS[kind].split(' ').map((ending) => [ending, kind] as const),
  ),
)
const ENDING = /\.([a-z][a-z0-9]{0,7}|7z|3gpp?)$/

/**
 * Returns every kind that a file may be, judged by its first {@link HEAD_BYTES}. There can be several, such as a PDF
 * within an image.
 */
export function recognisedKinds(head: Buffer): ReadonlySet<FileKind> {
  const start = head.toString('hex')
  const kinds = STARTS.flatMap(([pattern, ...may]) => (pattern.test(start) ? may : []))
  if (head.includes(PDF_HEADER)) kinds.push('pdf')
  return new Set([...kinds, ...kindsByBrand(head)])
}

function kindsByBrand(head: Buffer): readonly FileKind[] {
  const [mark, brand] = [head.toString('latin1', 4, 8), head.toString('latin1', 8, 12)]
  if (mark !== BRAND_MARK) return []
  if (IMAGE_BRAND.test(brand)) return ['image']
  return AUDIO_BRAND.test(brand) ? ['audio'] : ['audio', 'video']
}

/**
 * Returns the kind declared by a file's media type and name. Undefined if there is none, or if the two disagree, since
 * providers go by either.
 */
export function declaredKind(mediaType: string, name: string): FileKind | undefined {
  const type = mediaType.toLowerCase().trim()
  const ending = ENDING.exec(name.toLowerCase())?.[1]
  const byName = ending === undefined ? undefined : KIND_OF_ENDING.get(ending)
  if (type === '') return byName
  const byType = kindOfType(type)
  if (ending === undefined || byType === byName) return byType
  // Audio and video files often share their extensions.
  const isSound = byType === 'audio' || byType === 'video'
  return isSound && (byName === 'audio' || byName === 'video') ? byType : undefined
}

function kindOfType(type: string): FileKind | undefined {
  if (type === 'image/svg+xml') return undefined
  const family = type.slice(0, type.indexOf('/'))
  if (family === 'image' || family === 'audio' || family === 'video') return family
  if (type === 'application/pdf' || type === 'application/x-pdf') return 'pdf'
  return ARCHIVE_TYPE.test(type) ? 'archive' : undefined
}
