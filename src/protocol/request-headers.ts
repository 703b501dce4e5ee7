/** The headers of a request. */
export interface RequestHeaders {
  /** Returns the value of a header by its name in lower case. Several lines of one name are joined by commas. */
  header(name: string): string | undefined
}
