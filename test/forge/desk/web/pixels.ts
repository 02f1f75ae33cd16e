/** Compares screenshots of a page by their pixels. */
import type { Locator, Page } from 'playwright-core'

/** Pixels whose difference, summed over red, green and blue, is smaller look the same. */
const LEAST_DIFFERENCE = 40

export type Rectangle = { x: number; y: number; width: number; height: number }

/** The share of a rectangle's pixels that an action changes visibly, from 0 to 1. */
export async function changedBy(page: Page, clip: Rectangle, act: () => Promise<unknown>): Promise<number> {
  const before = await page.screenshot({ clip, caret: 'hide' })
  await act()
  const after = await page.screenshot({ clip, caret: 'hide' })
  // In a blank page, since the page's policy lets no script read an image.
  const blank = await page.context().newPage()
  const sources = [before, after].map(picture => `data:image/png;base64,${picture.toString('base64')}`)
  const part = await blank.evaluate(countDifferent, { sources, least: LEAST_DIFFERENCE })
  await blank.close()
  return part
}

async function countDifferent({ sources, least }: { sources: string[]; least: number }): Promise<number> {
  const [one, other] = await Promise.all(
    sources.map(async source => {
      const image = new Image()
      image.src = source
      await image.decode()
      const canvas = new OffscreenCanvas(image.width, image.height)
      const context = canvas.getContext('2d')
      context?.drawImage(image, 0, 0)
      return context?.getImageData(0, 0, image.width, image.height).data ?? new Uint8ClampedArray()
    }),
  )
  if (!one || !other || one.length === 0 || one.length !== other.length)
    throw new Error('These pictures differ in size')
  let different = 0
  for (let at = 0; at < one.length; at += 4) {
    const distance = [0, 1, 2].reduce((sum, channel) => {
      return sum + Math.abs((one[at + channel] ?? 0) - (other[at + channel] ?? 0))
    }, 0)
    if (distance >= least) different++
  }
  return different / (one.length / 4)
}

/** The rectangle of an element's text, without the empty part of its line. */
export async function textBox(element: Locator): Promise<Rectangle> {
  const box = await element.evaluate(line => {
    const range = document.createRange()
    range.selectNodeContents(line)
    const { x, y, width, height } = range.getBoundingClientRect()
    return { x, y, width, height }
  })
  return { x: Math.ceil(box.x), y: Math.ceil(box.y), width: Math.floor(box.width), height: Math.floor(box.height) }
}
