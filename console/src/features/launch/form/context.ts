import { createContext, use } from "react";
import type { Place } from "@/app/place";
import type { Errors } from "./draft";

/** The context of all editors of a form. */
export interface FormContext {
  /** The project and domain of uploads. */
  readonly place: Place;
  readonly errors: Errors;
}

export const FormContext = createContext<FormContext>({ place: { project: "", domain: "" }, errors: new Map() });

export const useForm = (): FormContext => use(FormContext);

/** The error of the value at a path. */
export const useError = (path: string): string | undefined => useForm().errors.get(path);
