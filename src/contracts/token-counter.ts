/**
 * Counts tokens if the provider does not report them: to size a hold, and to charge a call that was cut off. A real
 * tokenizer can replace the default.
 */
export interface TokenCounter {
  /** Returns an empty tally. A prompt may have several, whose counts are added up; each choice of a reply has one. */
  tally(): TokenTally
}

export interface TokenTally {
  /**
   * Adds text: the content or another field of a message, a field of the request, or the next piece of a reply. Any caller
   * can send text before anything is paid, so counting it must take time in proportion to its length.
   */
  add(text: string): void
  /** A whole number, no lower than the tokens of the text. Sizes a hold. */
  atMost(): number
  /** A whole number, no higher than the tokens of the text. Sizes a charge. */
  atLeast(): number
  /**
   * Adds an image, a recording, a video or a file: a content part of the request, as OpenAI's API has it. Counts in
   * {@link atMost}. Without it such parts are estimated, or bounded by the catalogue under `neverOverdraw`.
   */
  addMedia?(part: Readonly<Record<string, unknown>>): void
}
